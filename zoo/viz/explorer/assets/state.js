// What is chosen, for all panes; whoever shows it is called when it changes.

const chosen = { map: "", row: 0, column: 0, step: 0, under: "none", way: "reads" };
const watching = [];
let waiting = false;

/** Names a map in the address. */
function idOf(map) {
  return map.layer ? `${map.part}.${map.layer}.${map.head}` : map.part;
}

/** Gives the map of a pane that is chosen, or its first one. */
function mapOf(pane) {
  return pane.maps.find((map) => idOf(map) === chosen.map) ?? pane.maps[0];
}

/** Changes what is chosen, and shows it at the next frame. */
function choose(changes, keep = true) {
  Object.assign(chosen, changes);
  if (keep) {
    try { history.replaceState(null, "", `#${toAddress(chosen)}`); } catch { /* a frame of a notebook has no address */ }
  }
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; for (const show of watching) show(); });
}

/** Makes an element. */
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** Gives a canvas of a size in CSS pixels, sharp on any screen, and its context. */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Gives a colour of the style. */
function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Writes a colour for CSS. */
function css([red, green, blue], alpha = 1) {
  return `rgba(${red},${green},${blue},${alpha})`;
}
