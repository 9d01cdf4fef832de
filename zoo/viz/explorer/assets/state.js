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
