// View (3): tokens coloured by the chosen one, both ways, and lines between those that read and those that are read.

const MOST_CHIPS = 700;
const MOST_LINES = 90;
const FEW_KEYS = 8;

/** Makes two lines of tokens: keys by what the chosen query reads, queries by how much each reads the chosen key. */
function makeTokens(pane, store, colours) {
  const box = element("div");
  const lists = ["columns", "rows"].map((side) => {
    const title = element("h3");
    const chips = element("div", { class: "chips", role: "group" });
    box.append(title, chips);
    return { side, title, chips, names: null, buttons: [] };
  });
  const lines = element("canvas", { role: "img", "aria-label": "Lines from queries, left, to the keys they read, right" });
  const linesTitle = element("h3", {}, "Queries (left) and the keys that they read (right)");
  box.append(linesTitle, lines);
  const pick = (map, side, place) => {
    const own = map.rows === map.columns;
    choose({ ...(own || side === "rows" ? { row: place } : {}), ...(own || side === "columns" ? { column: place } : {}) });
  };
  const show = () => {
    const map = mapOf(pane);
    const shown = ["rows", "columns"].every((side) => pane.sides[map[side]].tokens || map.rows !== map.columns);
    box.hidden = !shown;
    if (!shown) return;
    const row = moved(chosen.row, 0, map.size[0]), column = moved(chosen.column, 0, map.size[1]);
    for (const list of lists) {
      const names = pane.sides[map[list.side]].names, keys = list.side === "columns";
      list.chips.hidden = list.title.hidden = names.length > MOST_CHIPS;
      if (list.chips.hidden) continue;
      if (list.names !== names) fill(list, names, (place) => pick(mapOf(pane), list.side, place));
      const of = keys ? pane.sides[map.rows].names[row] : pane.sides[map.columns].names[column];
      list.title.textContent = keys ? `What “${of}” reads` : `Who reads “${of}”`;
      list.chips.setAttribute("aria-label", list.title.textContent);
      const values = names.map((_, place) => (keys ? valueAt(store, map, row, place) : valueAt(store, map, place, column)));
      const most = Math.max(...values.map(Math.abs));
      list.buttons.forEach((button, place) => {
        const colour = colours[levelOf(values[place], most, colours.length)];
        button.style.background = css(colour);
        button.style.color = inkOn(colour);
        button.title = `${names[place]}: ${written(values[place], store.bits)}`;
        button.setAttribute("aria-pressed", String(place === (keys ? column : row)));
      });
    }
    const few = Math.max(...map.size) <= MOST_LINES;
    lines.hidden = linesTitle.hidden = !few;
    if (few) drawLines(pane, store, map, lines, Math.min(box.clientWidth, 460), row);
  };
  return { box, show };
}

function fill(list, names, pick) {
  list.names = names;
  list.buttons = names.map((name, place) => element("button", { type: "button", onclick: () => pick(place) }, name));
  list.chips.replaceChildren(...list.buttons);
}

/** Tells whether a pair has a line, by its share of the row: those of the chosen query, and of others what stands out of an even share. */
function hasLine(share, keys, own) {
  return own || keys <= FEW_KEYS || share >= 2 / keys;
}

/** Draws a line for each such pair, as wide and as strong as its weight; those of the chosen query stand out. */
function drawLines(pane, store, map, canvas, width, row) {
  const [queries, keys] = [pane.sides[map.rows].names, pane.sides[map.columns].names];
  const step = 15, height = step * Math.max(queries.length, keys.length) + 8, room = Math.min(130, width * 0.33);
  const context = sized(canvas, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const most = largest(store, map), at = (place) => step * (place + 0.5) + 4;
  for (let one = 0; one < queries.length; one += 1) {
    const whole = keys.reduce((sum, _, two) => sum + Math.abs(valueAt(store, map, one, two)), 0) || 1;
    for (let two = 0; two < keys.length; two += 1) {
      const weight = Math.abs(valueAt(store, map, one, two)), share = weight / (most || 1);
      if (share < 0.02 || !hasLine(weight / whole, keys.length, one === row)) continue;
      context.strokeStyle = one === row ? styled("--mark") : styled("--accent");
      context.globalAlpha = one === row ? Math.max(0.25, share) : 0.35 * share;
      context.lineWidth = 0.5 + 3 * share;
      context.beginPath();
      context.moveTo(room, at(one));
      context.lineTo(width - room, at(two));
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  context.fillStyle = styled("--ink");
  context.textAlign = "right";
  queries.forEach((name, place) => context.fillText(shortened(name, 18), room - 4, at(place)));
  context.textAlign = "left";
  keys.forEach((name, place) => context.fillText(shortened(name, 18), width - room + 4, at(place)));
}

if (typeof module !== "undefined") module.exports = { hasLine };
