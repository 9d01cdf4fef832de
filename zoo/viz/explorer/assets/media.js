// View (4): attention laid over what was read: a picture's patches, a sound's spectrogram, a graph's edges.

/** Gives the weights that the medium shows: what the chosen query reads, or who reads the chosen key; null where none. */
function over(pane, store, map) {
  const reads = map.columns === "source" && (chosen.way === "reads" || map.rows !== "source");
  const readBy = map.rows === "source" && !reads;
  if (!reads && !readBy) return null;
  const row = moved(chosen.row, 0, map.size[0]), column = moved(chosen.column, 0, map.size[1]);
  const count = map.size[reads ? 1 : 0];
  const values = Array.from({ length: count }, (_, place) => (reads ? valueAt(store, map, row, place) : valueAt(store, map, place, column)));
  const name = reads ? pane.sides[map.rows].names[row] : pane.sides[map.columns].names[column];
  const own = map.rows === "source" && map.columns === "source";
  return { values, most: Math.max(...values.map(Math.abs)), own, at: own ? (reads ? row : column) : -1,
    words: reads ? `What “${name}” reads` : `Who reads “${name}”` };
}

const KINDS = { picture: makePicture, sound: makeSound, graph: makeGraph };
const TITLES = { picture: "Over the picture", sound: "Over the spectrogram", graph: "Along the edges" };

/** Makes the view of a pane's medium. */
function makeMedium(pane, store, colours) {
  const box = element("div");
  if (!pane.medium) return { box, show: () => {} };
  const title = element("h3");
  const way = element("select", { "aria-label": "Direction", onchange: (event) => choose({ way: event.target.value }) },
    element("option", { value: "reads" }, "what it reads"), element("option", { value: "read" }, "who reads it"));
  const fronts = element("span");
  const tools = element("div", { class: "tools" }, way, fronts);
  const view = KINDS[pane.medium.kind](pane, colours, box);
  box.append(title, tools, view.node);
  const show = () => {
    const map = mapOf(pane), found = over(pane, store, map);
    way.value = chosen.way;
    way.hidden = map.rows !== map.columns;
    title.textContent = `${TITLES[pane.medium.kind]}${found ? `: ${found.words}` : ""}`;
    const prefix = pane.medium.kind === "picture" && found?.own ? pane.medium.prefix : 0;
    fronts.replaceChildren(...Array.from({ length: prefix }, (_, place) => element("button",
      { type: "button", "aria-pressed": String(found.at === place), onclick: () => choose({ row: place, column: place }) },
      `${pane.sides.source.names[place]} (${written(found.values[place], store.bits)})`)));
    view.show(found);
  };
  view.node.addEventListener("click", (event) => {
    const place = view.at(event), map = mapOf(pane);
    if (place === null) return;
    if (map.rows === "source" && map.columns === "source") choose({ row: place, column: place });
    else if (map.columns === "source") choose({ column: place });
  });
  return { box, show };
}

function loaded(url, ready) {
  const image = new Image();
  image.addEventListener("load", ready);
  image.src = url;
  return image;
}

/** Gives the place of an event on a canvas, in shares of its width and height. */
function shareOf(event, canvas) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
}

function makePicture(pane, colours, box) {
  const { size, grid, prefix, url } = pane.medium;
  const node = element("canvas", { class: "picture", role: "img", "aria-label": "The picture, its patches coloured by their weights" });
  const clear = element("input", { type: "range", min: "0", max: "100", value: "60", "aria-label": "Strength of the colours" });
  let last = null;
  const image = loaded(url, () => show(last));
  clear.addEventListener("input", () => show(last));
  const holder = element("div", {}, node, element("label", { class: "quiet" }, "Colours ", clear));
  const show = (found) => {
    last = found;
    const width = Math.min(Math.max(box.clientWidth, 120), 420), height = (width * size[1]) / size[0];
    const context = sized(node, width, height);
    if (image.complete && image.naturalWidth) context.drawImage(image, 0, 0, width, height);
    if (!found) return;
    const [w, h] = [width / grid[1], height / grid[0]];
    const patches = found.values.slice(prefix, prefix + grid[0] * grid[1]), most = Math.max(...patches.map(Math.abs));
    patches.forEach((value, place) => {
      const level = levelOf(value, most, colours.length);
      context.fillStyle = css(colours[level], (clear.value / 100) * (0.35 + (0.65 * level) / 255));
      const [x, y] = [Math.round((place % grid[1]) * w), Math.round(Math.floor(place / grid[1]) * h)];
      context.fillRect(x, y, Math.round(((place % grid[1]) + 1) * w) - x, Math.round((Math.floor(place / grid[1]) + 1) * h) - y);
    });
    const at = found.at - prefix;
    if (at < 0) return;
    context.strokeStyle = styled("--mark");
    context.lineWidth = 3;
    context.strokeRect((at % grid[1]) * w + 1, Math.floor(at / grid[1]) * h + 1, w - 2, h - 2);
  };
  const at = (event) => {
    if (event.target !== node) return null;
    const [x, y] = shareOf(event, node);
    return prefix + Math.floor(y * grid[0]) * grid[1] + Math.floor(x * grid[1]);
  };
  return { node: holder, show, at };
}

function makeSound(pane, colours, box) {
  const { url, wave, seconds, step, hertz } = pane.medium;
  const node = element("canvas", { class: "picture", role: "img", "aria-label": "Weights over time, above the spectrogram" });
  const player = element("audio", { controls: "", src: wave, "aria-label": "The sound" });
  const holder = element("div", {}, node, player);
  let last = null, frame = null;
  const image = loaded(url, () => show(last));
  const show = (found) => {
    last = found;
    const width = Math.min(Math.max(box.clientWidth, 200), 720), left = 40, curve = 90, band = 120, bottom = 34;
    const context = sized(node, width, curve + band + bottom), wide = width - left - 6;
    frame = { left, wide, count: found ? found.values.length : 1 };
    const across = scaleOf([0, Math.max(seconds, frame.count * step)], [left, left + wide]);
    context.font = "11px system-ui, sans-serif";
    if (image.complete && image.naturalWidth) {
      context.imageSmoothingEnabled = false;
      context.drawImage(image, left, curve, across(seconds) - left, band);
    }
    context.fillStyle = styled("--quiet");
    context.textAlign = "right";
    context.fillText(`${hertz / 1000} kHz`, left - 3, curve + 9);
    context.fillText("0", left - 3, curve + band);
    context.textAlign = "center";
    for (const time of ticksOf([0, seconds], across, 34)) {
      const label = String(+time.toPrecision(3));
      context.fillText(label, within(across(time), context.measureText(label).width, width), curve + band + 13);
    }
    context.fillText("time (s)", left + wide / 2, curve + band + 28);
    if (!found) return;
    context.textAlign = "right";
    context.fillText(found.most.toPrecision(2), left - 3, 12);
    found.values.forEach((value, place) => {
      const level = levelOf(value, found.most, colours.length), high = (Math.abs(value) / (found.most || 1)) * (curve - 10);
      const [x, w] = [across(place * step), across((place + 1) * step) - across(place * step)];
      context.fillStyle = css(colours[level]);
      context.fillRect(x, curve - high, w + 0.3, high);
      context.fillStyle = css(colours[255], (0.5 * level) / 255);
      context.fillRect(x, curve, w + 0.3, band);
    });
    context.strokeStyle = styled("--mark");
    context.lineWidth = 2;
    if (found.at >= 0) context.strokeRect(across(found.at * step), 4, across(step) - left, curve + band - 4);
    if (player.currentTime > 0) { context.beginPath(); context.moveTo(across(player.currentTime), 0); context.lineTo(across(player.currentTime), curve + band); context.stroke(); }
  };
  player.addEventListener("timeupdate", () => show(last));
  const at = (event) => {
    if (event.target !== node || !frame) return null;
    const place = Math.floor((((event.clientX - node.getBoundingClientRect().left - frame.left) / frame.wide) * Math.max(seconds, frame.count * step)) / step);
    return place >= 0 && place < frame.count ? place : null;
  };
  return { node: holder, show, at };
}

function makeGraph(pane, colours, box) {
  const { places, edges, names } = pane.medium;
  const node = element("canvas", { class: "picture", role: "img", "aria-label": "The graph: nodes coloured by their weights, halves of edges by what a node reads from the other" });
  const holder = element("div", {}, node, element("p", { class: "quiet" },
    "A node's colour: its weight for the chosen one, ringed. The half of an edge next to a node: how much that node reads from the other."));
  let frame = null;
  const show = (found) => {
    const side = Math.min(Math.max(box.clientWidth, 160), 460), radius = places.length > 60 ? 5 : names ? 15 : 11;
    const context = sized(node, side, side);
    const at = places.map(([x, y]) => [radius + 4 + x * (side - 2 * radius - 8), radius + 4 + y * (side - 2 * radius - 8)]);
    frame = { at, radius };
    const map = mapOf(pane), own = map.rows === "source" && map.columns === "source", store = pane.store;
    const most = own ? largest(store, map) : 1;
    for (const [one, two] of edges) {
      for (const [reader, read] of [[one, two], [two, one]]) {
        const value = own && reader < map.size[0] && read < map.size[1] ? valueAt(store, map, reader, read) : 0;
        const level = levelOf(value, most, colours.length);
        context.strokeStyle = value ? css(colours[level]) : styled("--line");
        context.lineWidth = 1 + (5 * level) / 255;
        context.beginPath();
        context.moveTo(...at[reader]);
        context.lineTo((at[reader][0] + at[read][0]) / 2, (at[reader][1] + at[read][1]) / 2);
        context.stroke();
      }
    }
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${Math.min(11, Math.max(8, radius))}px system-ui, sans-serif`;
    at.forEach(([x, y], place) => {
      const colour = colours[found ? levelOf(found.values[place] ?? 0, found.most, colours.length) : 0];
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = css(colour);
      context.fill();
      context.strokeStyle = found?.at === place ? styled("--mark") : styled("--page");
      context.lineWidth = found?.at === place ? 4 : 1;
      context.stroke();
      context.fillStyle = inkOn(colour);
      if (radius > 6) context.fillText(names?.[place] ?? String(place), x, y);
    });
  };
  const at = (event) => {
    if (event.target !== node || !frame) return null;
    const { left, top } = node.getBoundingClientRect();
    const place = frame.at.findIndex(([x, y]) => Math.hypot(event.clientX - left - x, event.clientY - top - y) <= frame.radius + 3);
    return place < 0 ? null : place;
  };
  return { node: holder, show, at };
}

if (typeof module !== "undefined") module.exports = { makeGraph };
