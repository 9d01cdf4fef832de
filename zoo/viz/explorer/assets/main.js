// Puts the page together: unpacks the weights, makes the panes, and lets keys and the address choose.

const WORDED = { entropy: "Entropy (bits)", distance: "Mean distance", first: "Mass on first", itself: "Mass on self",
  previous: "Mass on previous", padding: "Mass on padding" };

/** Makes the summaries of the chosen head, view (6), or the caveat of a method, view (7). */
function makeSummary(pane) {
  const box = element("div");
  const show = () => {
    const map = mapOf(pane);
    if (!map.summary) { box.replaceChildren(element("p", { class: "quiet" }, map.caveat)); return; }
    const known = Object.entries(WORDED).filter(([key]) => map.summary[key] !== null);
    const of = { picture: "patches", sound: "frames" }[pane.medium?.kind] ?? "tokens";
    const unit = (key) => (key === "distance" ? `${WORDED[key]} (${of})` : WORDED[key]);
    box.replaceChildren(element("dl", {}, ...known.map(([key]) =>
      element("div", {}, element("dt", {}, unit(key)), element("dd", {}, map.summary[key].toFixed(3))))));
  };
  return { box, show };
}

function makePane(pane, store, colours, several) {
  pane.several = new Set(pane.maps.filter((map) => map.layer).map((map) => map.part)).size > 1;
  pane.store = store;
  const grid = makeGrid(pane, store, colours), matrix = makeMatrix(pane, store, colours), summary = makeSummary(pane);
  const tokens = makeTokens(pane, store, colours), medium = makeMedium(pane, store, colours), writing = makeWriting(pane);
  const title = element("h3");
  const under = element("select", { "aria-label": "Number under each head", onchange: (event) => choose({ under: event.target.value }) },
    ...Object.entries(MEASURES).map(([key, words]) => element("option", { value: key }, words)));
  const notes = pane.notes.map((note) => element("p", { class: "quiet" }, note));
  const left = element("div", {}, element("h3", {}, "Layers and heads"), element("div", { class: "tools quiet" }, element("label", {}, "under each head: ", under)),
    element("div", { class: "wide" }, grid.grid), ...notes, medium.box, writing.box);
  const right = element("div", {}, title, matrix.box, summary.box, element("div", { class: "tools" }, ...makeExports(pane, store, colours, matrix)), tokens.box);
  const node = element("section", { class: "pane", "aria-label": pane.title }, ...(several ? [element("h2", {}, pane.title)] : []),
    element("div", { class: "parts" }, left, right));
  const views = [grid, matrix, summary, tokens, medium, writing];
  watching.push(() => {
    const map = mapOf(pane);
    title.textContent = map.layer ? `${map.part[0].toUpperCase()}${map.part.slice(1)}${map.part === "cross" ? "-attention" : ""}, layer ${map.layer}, head ${map.head}` : `${map.part[0].toUpperCase()}${map.part.slice(1)}`;
    under.value = chosen.under;
    for (const view of views) view.show();
  });
  return node;
}

/** Gives the map that a key leads to from the chosen one. */
function beside(maps, key) {
  const now = maps.findIndex((map) => idOf(map) === idOf(mapOf({ maps })));
  if (key === "[" || key === "]") return maps[moved(now, key === "]" ? 1 : -1, maps.length)];
  const { part, layer, head } = maps[now];
  const line = (map) => `${map.part}.${map.layer}`;
  const lines = [...new Set(maps.map(line))];
  const next = lines[moved(lines.indexOf(`${part}.${layer}`), key === "." ? 1 : -1, lines.length)];
  return maps.find((map) => line(map) === next && map.head === head) ?? maps.find((map) => line(map) === next);
}

async function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const numbers = document.getElementById("numbers");
  const store = split(await inflated(bytesOf(numbers.textContent)), data);
  numbers.remove();
  const colours = coloursOf(data.colours), panes = document.getElementById("panes");
  const first = data.panes[0];
  Object.assign(chosen, { map: idOf(first.maps[0]), row: 0, column: 0 });
  const written0 = first.maps.find((map) => map.part === "cross");
  if (written0) chosen.map = idOf(written0);
  Object.assign(chosen, fromAddress(location.hash));
  if (!first.maps.some((map) => idOf(map) === chosen.map)) chosen.map = idOf(first.maps[0]);
  panes.className = data.panes.length > 1 ? "two" : "one";
  panes.hidden = document.getElementById("keys").hidden = false;
  panes.append(...data.panes.map((pane) => makePane(pane, store, colours, data.panes.length > 1)));
  document.getElementById("told").hidden = true;
  document.addEventListener("keydown", (event) => {
    if (!["[", "]", ",", "."].includes(event.key) || event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    choose(fitting(first, beside(first.maps, event.key)));
  });
  window.addEventListener("hashchange", () => choose(fromAddress(location.hash), false));
  window.addEventListener("resize", () => choose({}, false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose({}, false));
  for (const show of watching) show();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  document.getElementById("told").textContent = `The page cannot be shown: ${error.message}`;
  throw error;
});
