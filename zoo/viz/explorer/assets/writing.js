// View (5): a slider through the generation, the candidates of each step, and the beams as a tree.

/** Lays a tree out: depth from left to right, leaves from top to bottom. */
function laidOut(tree) {
  const below = tree.map(() => []), roots = [];
  tree.forEach(({ parent }, place) => (parent < 0 ? roots : below[parent]).push(place));
  const found = tree.map(() => ({ depth: 0, line: 0 }));
  let line = 0;
  const put = (place, depth) => {
    found[place].depth = depth;
    if (below[place].length === 0) { found[place].line = line; line += 1; return; }
    for (const each of below[place]) put(each, depth + 1);
    found[place].line = below[place].reduce((sum, each) => sum + found[each].line, 0) / below[place].length;
  };
  for (const root of roots) put(root, 0);
  return { places: found, lines: line };
}

/** Gives the probability of a node's token after its parent's, from the log-probabilities of both; null if unknown. */
function stepProbability(tree, place) {
  const { total, parent } = tree[place], before = parent < 0 ? 0 : tree[parent].total;
  return total === null || before === null ? null : Math.exp(total - before);
}

/** Gives the step that writes behind the chosen row of the target; the chosen step where no token is written there. */
function stepOf(steps, rows, row, step) {
  const at = rows === "target" ? steps.findIndex((each) => each.row === row) : -1;
  return at < 0 ? Math.max(0, Math.min(step, steps.length - 1)) : at;
}

/** Makes the slider with what was written, its candidates and the tree. */
function makeWriting(pane) {
  const box = element("div");
  const { generation } = pane;
  if (!generation || generation.steps.length === 0) return { box, show: () => {} };
  const { steps, tree } = generation;
  const slider = element("input", { type: "range", min: "0", max: String(steps.length - 1), "aria-label": "Step of the generation" });
  const title = element("h3"), text = element("p", { class: "written" }), table = element("table", { "aria-label": "Candidates of the step" });
  const cut = element("p", { class: "quiet" }, "No token stands here: the answer ends, or was cut off. What would follow:");
  box.append(title, element("div", { class: "steps" }, slider), text, cut, table);
  slider.addEventListener("input", () => {
    const step = Number(slider.value), map = mapOf(pane);
    choose({ step, ...(map.rows === "target" ? { row: steps[step].row } : {}) });
  });
  if (tree.length) {
    box.append(element("h3", {}, "Beams as a tree"), element("p", { class: "quiet" }, "Each token with its probability after those before it; the best answer is marked. In brackets: the score of a finished answer, its log-probability over the length penalty."),
      element("div", { class: "wide" }, drawnTree(tree)));
  }
  const show = () => {
    const step = stepOf(steps, mapOf(pane).rows, chosen.row, chosen.step), names = pane.sides.target.names;
    if (mapOf(pane).rows === "target" && steps[step].row === chosen.row) chosen.step = step; // another map goes on from there
    slider.value = String(step);
    title.textContent = `Generation: step ${step + 1} of ${steps.length}`;
    slider.setAttribute("aria-valuetext", title.textContent);
    const taken = steps[step].candidates.find(([, , chosenOne]) => chosenOne)?.[0] ?? "";
    cut.hidden = steps[step].candidates.some(([, , chosenOne]) => chosenOne);
    text.replaceChildren(...names.slice(0, steps[step].row + 1).map((name) => element("span", {}, name)), element("b", {}, taken || " "));
    table.replaceChildren(...steps[step].candidates.map(([name, probability, chosenOne]) => {
      const bar = element("i");
      bar.style.width = `${100 * probability}%`;
      return element("tr", { class: chosenOne ? "taken" : null }, element("td", { class: "token" }, name),
        element("td", {}, probability.toFixed(3)), element("td", { class: "bar" }, bar));
    }));
  };
  return { box, show };
}

function drawnTree(tree) {
  const { places, lines } = laidOut(tree);
  const wide = 78, high = 32, deepest = Math.max(...places.map(({ depth }) => depth));
  const at = places.map(({ depth, line }) => [8 + depth * wide, 16 + line * high]);
  const svg = svgElement("svg", { class: "tree", width: (deepest + 1) * wide + 130, height: lines * high + 12, role: "img", "aria-label": `Tree of ${tree.length} tokens` });
  tree.forEach(({ parent, best }, place) => {
    if (parent >= 0) svg.append(svgElement("path", { class: best ? "best" : "", d: `M${at[parent][0] + 4 + 7.3 * Math.min(8, tree[parent].token.length)} ${at[parent][1]}L${at[place][0] - 3} ${at[place][1]}` }));
  });
  tree.forEach(({ token, best, score }, place) => {
    const [x, y] = at[place], probability = stepProbability(tree, place);
    svg.append(svgElement("text", { x, y: y + 4, class: best ? "best" : "" }, shortened(token, 8) + (score === null ? "" : ` (${score.toFixed(2)})`)));
    if (probability !== null) svg.append(svgElement("text", { x, y: y + 15, class: "p" }, probability.toFixed(3)));
  });
  return svg;
}

if (typeof module !== "undefined") module.exports = { laidOut, stepOf, stepProbability };
