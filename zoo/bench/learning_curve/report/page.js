// Draws the figure of the page from the JSON beside it, as its controls say, and tells the runs of a point.
{
  const study = JSON.parse(document.getElementById("study").textContent);
  const [live, controls, plot, runs] = ["live", "controls", "plot", "runs"].map((id) => document.getElementById(id));
  let drawn = []; // the points of the figure: { contestant, point, at: [x, y], node, dots }
  let chosen = null;
  const LETTER = 6.6; // pixels, about

  // Where everything stands

  /** Reads the controls. */
  function view() {
    const form = new FormData(controls);
    const shown = form.getAll("shown");
    return {
      x: form.get("x"), y: study.vertical[form.get("y")], logX: form.has("logx"), logY: form.has("logy"),
      shown: study.contestants.filter((_, index) => shown.includes(String(index))),
    };
  }

  /** Turns an error into what the vertical axis shows; the best score of other measures than the metric is 1. */
  function height(error, now) {
    const drawable = Math.max(error, study.smallest);
    if (now.y.as === "error") return drawable;
    return now.y.of === "score" ? study.sign * (study.best - drawable) : 1 - drawable;
  }

  /** Gives the values between which an axis runs, with room at both ends; the same whatever models are shown. */
  function domain(values, logarithmic, room, most = Infinity) {
    const low = Math.min(...values), high = Math.max(...values);
    if (!logarithmic) return [Math.min(0, low), Math.min(high + 0.05 * (high - Math.min(0, low)), most)];
    const positive = Math.min(...values.filter((value) => value > 0));
    return [positive / room, Math.min(high * room, most)];
  }

  const everything = study.contestants.flatMap((contestant) => contestant.points);
  const placed = (contestant, now) => contestant.points.filter((point) => point.errors[now.y.of]);
  const isMetric = (now) => now.y.of === "score"; // which fits, levels and crossovers are of

  function domains(now) {
    const errors = study.contestants.flatMap((contestant) => placed(contestant, now))
      .flatMap((point) => [...point.errors[now.y.of], ...finished(point).map((run) => run.errors[now.y.of])]);
    const levels = isMetric(now) ? study.levels.map((level) => level.error) : [];
    const heights = [...errors, ...levels].map((error) => height(error, now));
    const far = now.x === "size" ? 1.3 : 1.15;
    return {
      x: domain(everything.map((point) => point[now.x]).filter(Boolean), now.logX, far),
      y: domain(heights, now.logY, 1.12, now.y.percent ? 1 : Infinity),
    };
  }

  // How it is written

  const units = ["", " k", " M", " G", " T", " P", " E"];
  function amount(value, axis) {
    if (axis !== "operations") return value.toLocaleString("en");
    const power = Math.min(Math.max(Math.floor(Math.log10(value || 1) / 3), 0), units.length - 1);
    return `${+(value / 1000 ** power).toPrecision(3)}${units[power]}`;
  }

  const share = (value, now) => (now.y.percent ? `${+(100 * value).toPrecision(3)} %` : `${+value.toPrecision(3)}`);
  const score = (error) => (study.sign * (study.best - error)).toFixed(3);
  const finished = (point) => point.runs.filter((run) => !run.failed);

  function described({ contestant, point }) {
    const place = `${contestant.name}, ${amount(point.size)} examples`;
    const failed = point.runs.length - finished(point).length;
    const count = `${point.runs.length} run${point.runs.length === 1 ? "" : "s"}${failed ? `, ${failed} failed` : ""}`;
    if (!point.errors.score) return [place, count];
    const bounds = point.errors.score.slice(1).map(score).sort((one, other) => one - other);
    return [place, `${study.measure} ${score(point.errors.score[0])}, 95 % interval ${bounds.join(" to ")}; ${count}`];
  }

  // The figure

  const path = (points) => `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

  /** Gives places on the straight lines, on logarithmic axes, between points: the crossover is found on those. */
  function between(points) {
    const logs = points.map((point) => point.map(Math.log));
    return logs.flatMap(([x, y], index) => {
      const [nextX, nextY] = logs[index + 1] ?? [x, y];
      const count = index + 1 < logs.length ? 16 : 1;
      return Array.from({ length: count }, (_, part) => {
        const way = part / 16;
        return [Math.exp(x + way * (nextX - x)), Math.exp(y + way * (nextY - y))];
      });
    });
  }

  /** Writes text in as many lines as it needs, downwards from a place. */
  function lines(text, x, y, room) {
    const broken = [""];
    for (const word of text.split(" ")) {
      const longer = `${broken.at(-1)} ${word}`.trim();
      if (longer.length * LETTER > room && broken.at(-1)) broken.push(word);
      else broken[broken.length - 1] = longer;
    }
    const spans = broken.map((line, index) => svgElement("tspan", { x, y: y + 15 * index }, line));
    return svgElement("text", {}, ...spans);
  }

  function grid(now, frame, at, range) {
    const sizes = [...new Set(everything.map((point) => point.size))].sort((one, other) => one - other);
    const fits = (values) => values.every((v, i) => !i || at.x(v) - at.x(values[i - 1]) >= 48);
    const own = now.x === "size" && now.logX && fits(sizes);
    const nodes = [];
    for (const value of own ? sizes : ticksOf(range.x, at.x, 56, now.logX)) {
      nodes.push(svgElement("line", { class: "grid", x1: at.x(value), x2: at.x(value), y1: frame.top, y2: frame.bottom }));
      nodes.push(svgElement("text", { x: at.x(value), y: frame.bottom + 18, "text-anchor": "middle" }, amount(value, now.x)));
    }
    for (const value of ticksOf(range.y, at.y, 26, now.logY)) {
      nodes.push(svgElement("line", { class: "grid", x1: frame.left, x2: frame.right, y1: at.y(value), y2: at.y(value) }));
      nodes.push(svgElement("text", { x: frame.left - 6, y: at.y(value) + 4, "text-anchor": "end" }, share(value, now)));
    }
    nodes.push(svgElement("text", { x: 4, y: 14 }, `test ${now.y.words}`));
    nodes.push(svgElement("text", { x: frame.right, y: frame.bottom + 38, "text-anchor": "end" }, study.axes[now.x]));
    return nodes;
  }

  function levels(now, frame, at) {
    return (isMetric(now) ? study.levels : []).flatMap(({ error, words }) => {
      const y = at.y(height(error, now));
      const line = svgElement("line", { class: "level", x1: frame.left, x2: frame.right, y1: y, y2: y });
      return [line, lines(`${words} (${share(height(error, now), now)})`, frame.left + 6, y + 14, frame.right - frame.left)];
    });
  }

  function crossing(now, frame, at) {
    const found = study.crossovers[now.x];
    if (!found || !isMetric(now)) return [];
    const inside = (x) => Math.min(Math.max(x, frame.left), frame.right);
    const [value, low, high] = found.at.map((size, index) =>
      inside(size === null ? (index === 2 ? frame.right : frame.left) : at.x(size)));
    const half = (found.words.length * LETTER) / 2;
    const middle = Math.min(Math.max(value, half), frame.right - half);
    return [
      svgElement("rect", { class: "interval", x: low, y: frame.top, width: high - low, height: frame.bottom - frame.top }),
      svgElement("line", { class: "crossing", x1: value, x2: value, y1: frame.top, y2: frame.bottom }),
      svgElement("text", { x: middle, y: frame.top - 8, "text-anchor": "middle" }, found.words),
    ];
  }

  function clip({ left, right, top, bottom }) {
    const area = svgElement("rect", { x: left, y: top, width: right - left, height: bottom - top });
    return svgElement("clipPath", { id: "frame" }, area);
  }

  /** Draws a curve through points that cost more with more examples, else the interval of each; clipped, since fits leave the frame. */
  function curve(contestant, now, at) {
    const points = placed(contestant, now);
    const place = ([x, error]) => [at.x(x), at.y(height(error, now))];
    const shown = (which) => points.map((point) => [point[now.x], Math.max(point.errors[now.y.of][which], study.smallest)]);
    const line = (which) => between(shown(which)).map(place);
    if (!points.length) return [];
    const rising = points.every((point, index) => !index || points[index - 1][now.x] < point[now.x]);
    const nodes = rising ? [
      svgElement("path", { class: "band", d: `${path([...line(1), ...line(2).reverse()])}Z` }),
      svgElement("path", { class: "mean", d: path(line(0)) }),
    ] : shown(1).map((low, index) => svgElement("path", { class: "spread", d: path([low, shown(2)[index]].map(place)) }));
    if (contestant.fit && now.x === "size" && isMetric(now)) {
      const [a, b, c] = contestant.fit, first = points[0].size, far = (points.at(-1).size / first) * 1.3;
      const sizes = Array.from({ length: 60 }, (_, index) => first * far ** (index / 59));
      nodes.push(svgElement("path", { class: "fit", d: path(sizes.map((size) => place([size, a * size ** -b + c]))) }));
    }
    return [svgElement("g", { "clip-path": "url(#frame)" }, ...nodes)];
  }

  function mark(contestant, point, now, at, frame) {
    const errors = point.errors[now.y.of];
    const x = at.x(point[now.x]), y = errors ? at.y(height(errors[0], now)) : frame.top + 8;
    const dots = (errors ? finished(point) : []).map((run) => {
      const place = { cx: at.x(run[now.x] ?? point.size), cy: at.y(height(run.errors[now.y.of], now)) };
      return svgElement("circle", { class: "run", r: 2.5, ...place });
    });
    const shape = errors ? contestant.path : "M-5-5L5 5M-5 5L5-5";
    const node = svgElement("g", {
      class: errors ? "point" : "point failed", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      tabindex: 0, role: "img", "aria-label": described({ contestant, point }).join(": "), onfocus: () => tell(entry),
    }, svgElement("circle", { class: "ring", r: 11 }), svgElement("path", { d: shape }));
    const entry = { contestant, point, at: [x, y], node, dots };
    drawn.push(entry);
    return { dots, node };
  }

  function draw() {
    const now = view(), width = Math.max(plot.clientWidth, 240), tall = Math.min(Math.max(0.62 * width, 300), 560);
    const frame = { left: 56, right: width - 14, top: 44, bottom: tall - 46 }, range = domains(now);
    const at = {
      x: scaleOf(range.x, [frame.left, frame.right], now.logX), y: scaleOf(range.y, [frame.bottom, frame.top], now.logY),
    };
    const figure = svgElement("svg", {
      viewBox: `0 0 ${width} ${tall}`, role: "group", "aria-label": `Test ${now.y.words} by ${study.axes[now.x]}`,
    }, clip(frame), ...grid(now, frame, at, range), ...crossing(now, frame, at), ...levels(now, frame, at));
    drawn = [];
    for (const contestant of now.shown) {
      const group = svgElement("g", { class: "curve" }, ...curve(contestant, now, at));
      group.style.setProperty("--mark", `var(--mark-${study.contestants.indexOf(contestant)})`);
      const there = contestant.points
        .filter((point) => point[now.x] && (point.errors[now.y.of] || !point.errors.score)).map((point) => mark(contestant, point, now, at, frame));
      group.append(...there.flatMap(({ dots }) => dots), ...there.map(({ node }) => node));
      figure.append(group);
    }
    plot.replaceChildren(figure);
    emphasise();
  }

  // The runs of a point

  function emphasise() {
    for (const { contestant, point, node, dots } of drawn) {
      const is = chosen !== null && contestant === chosen.contestant && point === chosen.point;
      for (const each of [node, ...dots]) each.classList.toggle("chosen", is);
    }
  }

  function row({ seed, steps, best, rate, seconds, errors, failed }) {
    const cells = [seed, failed ? "failed" : score(errors.score), best && best < steps ? `${steps} (${best})` : steps, rate];
    const line = element("tr", {}, ...cells.map((cell) => element("td", {}, String(cell))), element("td", {}, seconds?.toFixed(1) ?? "-"));
    if (!failed) return [line];
    return [line, element("tr", {}, element("td", { colspan: 5, class: "failed" }, failed))];
  }

  function tell(entry) {
    if (chosen?.point === entry.point) return;
    chosen = entry;
    emphasise();
    const [place, found] = described(entry);
    const head = ["seed", study.measure, "steps (best)", "learning rate", "seconds"].map((title) => element("th", {}, title));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...entry.point.runs.flatMap(row)));
    runs.replaceChildren(element("h3", {}, place), element("p", {}, found), table);
  }

  /** Tells the runs of the point that is nearest to the pointer, where one is near. */
  function point(event) {
    const box = plot.firstChild.getBoundingClientRect();
    const ratio = plot.firstChild.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const away = (entry) => Math.hypot(entry.at[0] - x, entry.at[1] - y);
    const near = drawn.reduce((best, entry) => (!best || away(entry) < away(best) ? entry : best), null);
    if (near && away(near) < 32) tell(near);
  }

  if (everything.some((point) => point.errors.score)) {
    live.hidden = false;
    draw();
    document.getElementById("static").hidden = true;
    plot.after(element("div", { class: "tools" }, ...saveButtons(() => "data-size", () => rasterised(plot.firstChild), () => standalone(plot.firstChild))));
    controls.addEventListener("change", draw);
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    let before = plot.clientWidth;
    new ResizeObserver(() => {
      if (plot.clientWidth !== before) draw();
      before = plot.clientWidth;
    }).observe(plot);
  }
}
