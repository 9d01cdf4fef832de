// Views (1) and (2): the grid of layers and heads, and one matrix with the numbers under the pointer.

/** Draws a map, or a sample of it, as an image of so many pixels. */
function imageOf(store, map, colours, rows = map.size[0], columns = map.size[1]) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const most = largest(store, map);
  for (let y = 0; y < rows; y += 1) {
    const row = Math.floor((y * map.size[0]) / rows);
    for (let x = 0; x < columns; x += 1) {
      const value = valueAt(store, map, row, Math.floor((x * map.size[1]) / columns));
      const colour = colours[levelOf(value, most, colours.length)], at = 4 * (y * columns + x);
      image.data[at] = colour[0];
      image.data[at + 1] = colour[1];
      image.data[at + 2] = colour[2];
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

const MEASURES = { none: "nothing", entropy: "entropy (bits)", distance: "mean distance", first: "mass on first",
  itself: "mass on self", previous: "mass on previous", padding: "mass on padding" };
const THUMB = 42;

/** Makes the grid: a row for each layer, a button for each head, methods below. */
function makeGrid(pane, store, colours) {
  const groups = new Map();
  for (const map of pane.maps) {
    const name = map.layer ? `${pane.several ? `${map.part} ` : "layer "}${map.layer}` : "methods";
    groups.set(name, [...(groups.get(name) ?? []), map]);
  }
  const grid = element("div", { class: "heads", role: "group", "aria-label": "Layers and heads" });
  const buttons = [];
  for (const [name, maps] of groups) {
    const row = element("div", { class: name === "methods" ? "row methods" : "row" });
    for (const map of maps) {
      const label = map.layer ? `${map.part}, layer ${map.layer}, head ${map.head}` : map.part;
      const picture = imageOf(store, map, colours, Math.min(THUMB, map.size[0]), Math.min(THUMB, map.size[1]));
      const words = element("span", {}, map.layer ? "" : map.part);
      const button = element("button", { type: "button", "aria-label": label, title: label,
        class: map.layer ? null : "method", onclick: () => choose(fitting(pane, map)) }, picture, words);
      buttons.push({ map, button, words });
      row.append(button);
    }
    grid.append(element("span", { class: "name" }, name), row);
  }
  const show = () => {
    const now = idOf(mapOf(pane));
    for (const { map, button, words } of buttons) {
      button.setAttribute("aria-pressed", String(idOf(map) === now));
      const number = map.summary?.[chosen.under];
      if (map.layer) words.textContent = chosen.under === "none" ? "" : number === null || number === undefined ? "–" : number.toFixed(2);
    }
  };
  return { grid, show };
}

/** Gives what is chosen with another map, cell inside. */
function fitting(pane, map) {
  return { map: idOf(map), row: moved(chosen.row, 0, map.size[0]), column: moved(chosen.column, 0, map.size[1]) };
}

/** Says in words what a cell holds. */
function told(pane, store, map, row, column) {
  const [query, key] = [pane.sides[map.rows].names[row], pane.sides[map.columns].names[column]];
  return { words: map.layer ? `${query} → ${key}` : `${key} for ${query}`, value: valueAt(store, map, row, column) };
}

const LETTER = 7;
const NAMED = 64; // names along a side

/** Gives the room that names need, and the frame of the cells. */
function frameOf(pane, map, width) {
  const names = [pane.sides[map.rows].names, pane.sides[map.columns].names].map((each, at) =>
    map.size[at] <= NAMED ? each.map((name) => shortened(name, 16)) : null);
  const room = names.map((each) => (each ? Math.min(110, LETTER * Math.max(...each.map((name) => name.length)) + 10) : 22));
  const across = Math.min((width - room[0] - 2) / map.size[1], 34), down = Math.min(440 / map.size[0], 34);
  const [wide, high] = [Math.min(across, 4 * down), Math.min(down, 4 * across)]; // square, but for long and narrow maps
  const [x, y] = Math.max(wide / high, high / wide) < 2 ? [Math.min(wide, high), Math.min(wide, high)] : [wide, high];
  return { frame: { left: room[0], top: room[1], width: x * map.size[1], height: y * map.size[0] }, names, wide: x, high: y };
}

/** Draws the matrix with names and the chosen row and column. */
function drawMatrix(pane, store, map, image, canvas, width, cellChosen) {
  const { frame, names, wide, high } = frameOf(pane, map, width);
  const context = sized(canvas, width, frame.top + frame.height + 4);
  context.clearRect(0, 0, width, frame.top + frame.height + 4);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, frame.left, frame.top, frame.width, frame.height);
  context.fillStyle = styled("--ink");
  context.textBaseline = "middle";
  drawNames(context, names, frame, wide, high);
  context.strokeStyle = styled("--mark");
  context.lineWidth = Math.min(wide, high) < 5 ? 1 : 1.5;
  context.strokeRect(frame.left, frame.top + cellChosen.row * high, frame.width, high);
  context.strokeRect(frame.left + cellChosen.column * wide, frame.top, wide, frame.height);
  return frame;
}

function drawNames(context, names, frame, wide, high) {
  const [stepX, stepY] = [wide, high].map((cell) => Math.max(1, Math.ceil(8 / cell)));
  const font = (cell, named) => `${named ? Math.max(7, Math.min(12, cell - 1)) : 12}px system-ui, sans-serif`;
  context.textAlign = "right";
  context.font = font(high, names[0]);
  if (names[0]) names[0].forEach((name, at) => { if (at % stepY === 0) context.fillText(name, frame.left - 4, frame.top + (at + 0.5) * high); });
  else turned(context, 10, frame.top + frame.height / 2, "query", "center");
  context.textAlign = "left";
  context.font = font(wide, names[1]);
  if (names[1]) names[1].forEach((name, at) => { if (at % stepX === 0) turned(context, frame.left + (at + 0.5) * wide, frame.top - 4, name, "left"); });
  else context.fillText("key", frame.left + frame.width / 2, 10);
}

function turned(context, x, y, text, align) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.textAlign = align;
  context.fillText(text, 0, 0);
  context.restore();
}

/** Makes the matrix: a canvas that answers to pointer and keyboard, and a line with the number. */
function makeMatrix(pane, store, colours) {
  const canvas = element("canvas", { class: "matrix", tabindex: "0", role: "application" });
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const box = element("div", {}, canvas, readout);
  let drawn = { map: null, image: null, frame: null };
  let over = null;
  const tell = (cell) => {
    const map = mapOf(pane);
    const { words, value } = told(pane, store, map, cell.row, cell.column);
    readout.replaceChildren(element("b", {}, written(value, store.bits)), ` ${words}`,
      element("span", { class: "quiet" }, `  (query ${cell.row + 1} of ${map.size[0]}, key ${cell.column + 1} of ${map.size[1]})`));
  };
  const show = () => {
    const map = mapOf(pane);
    if (drawn.map !== map) drawn = { map, image: imageOf(store, map, colours) };
    const cell = over ?? { row: moved(chosen.row, 0, map.size[0]), column: moved(chosen.column, 0, map.size[1]) };
    drawn.frame = drawMatrix(pane, store, map, drawn.image, canvas, Math.min(box.clientWidth, 640), cell);
    canvas.setAttribute("aria-label", `Matrix of ${map.part}${map.layer ? ` layer ${map.layer} head ${map.head}` : ""}, ${map.size[0]} queries and ${map.size[1]} keys; arrow keys move the cell`);
    tell(cell);
  };
  const under = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return cellAt(event.clientX - left, event.clientY - top, drawn.frame, mapOf(pane).size);
  };
  canvas.addEventListener("pointermove", (event) => { over = under(event); show(); });
  canvas.addEventListener("pointerleave", () => { over = null; show(); });
  canvas.addEventListener("click", (event) => { const cell = under(event); if (cell) choose(cell); });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    over = null;
    const { size } = mapOf(pane);
    choose({ row: moved(chosen.row, way[0], size[0]), column: moved(chosen.column, way[1], size[1]) });
  });
  return { box, canvas, show, image: () => drawn.image };
}
