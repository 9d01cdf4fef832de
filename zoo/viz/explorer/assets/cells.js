// From places on the screen to cells, and names beside them.

/** Gives the cell under a place; null outside. */
function cellAt(x, y, frame, [rows, columns]) {
  const column = Math.floor(((x - frame.left) / frame.width) * columns);
  const row = Math.floor(((y - frame.top) / frame.height) * rows);
  return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
}

/** Moves a number by a step and keeps it inside 0 … count - 1. */
function moved(value, step, count) {
  return Math.min(Math.max(value + step, 0), count - 1);
}

/** Cuts a name that is too long to stand along an axis. */
function shortened(name, most) {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

/** Gives the middle of a label that is centred at a place, moved so far that none of it is cut at the ends of a canvas. */
function within(place, wide, width) {
  return Math.min(Math.max(place, wide / 2), width - wide / 2);
}

if (typeof module !== "undefined") module.exports = { cellAt, moved, shortened, within };
