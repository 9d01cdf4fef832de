// From weights to colours, and from places on the screen to cells.

/** Reads colours from one text of hexadecimal digits, six for each. */
function coloursOf(text) {
  return Array.from({ length: text.length / 6 }, (_, place) =>
    [0, 2, 4].map((digit) => parseInt(text.slice(6 * place + digit, 6 * place + digit + 2), 16)));
}

/** Gives the place of a weight among the colours: by the root of its share of the largest, so that small ones show. */
function levelOf(value, most, count) {
  if (!(most > 0)) return 0;
  return Math.round((count - 1) * Math.sqrt(Math.min(Math.abs(value) / most, 1)));
}

/** Says whether black or white is read better on a colour. */
function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#000" : "#fff";
}

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

if (typeof module !== "undefined") module.exports = { coloursOf, levelOf, inkOn, cellAt, moved, shortened };
