"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { laidOut, stepOf, stepProbability } = require(`${process.env.ZOO}/viz/explorer/assets/writing.js`);
const { svgOf } = require(`${process.env.ZOO}/viz/explorer/assets/exports.js`);

const node = (parent, total) => ({ token: "t", parent, total, score: null, best: 0 });
const tree = [node(-1, Math.log(0.5)), node(0, Math.log(0.2)), node(0, Math.log(0.1)), node(-1, null), node(3, -1)];

test("leaves stand below each other and parents between their children", () => {
  const { places, lines } = laidOut(tree);
  assert.equal(lines, 3);
  assert.deepStrictEqual(places.map(({ depth }) => depth), [0, 1, 1, 0, 1]);
  assert.deepStrictEqual(places.map(({ line }) => line), [0.5, 0, 1, 2, 2]);
});

test("a token has its probability after those before it", () => {
  assert.ok(Math.abs(stepProbability(tree, 0) - 0.5) < 1e-12);
  assert.ok(Math.abs(stepProbability(tree, 1) - 0.4) < 1e-12);
  assert.equal(stepProbability(tree, 3), null);
  assert.equal(stepProbability(tree, 4), null);
});

test("the chosen row of the target says the step, and another map keeps it", () => {
  const steps = [{ row: 3 }, { row: 4 }, { row: 5 }];
  assert.equal(stepOf(steps, "target", 4, 0), 1);
  assert.equal(stepOf(steps, "source", 4, 2), 2);
  assert.equal(stepOf(steps, "target", 1, 2), 2); // in the prompt nothing is written
  assert.equal(stepOf(steps, "source", 0, 9), 2);
});

test("SVG has a rectangle for each run of a colour, and names are text", () => {
  const given = { size: [2, 3], rows: ["<a>", "b"], columns: ["x", "y", "z"], title: "t & u", url: "" };
  const svg = svgOf({ ...given, colour: (row, column) => (row === 0 ? "#000000" : `#00000${column}`) });
  assert.equal(svg.match(/<rect /g).length, 1 + 1 + 3);
  assert.ok(svg.includes("&lt;a&gt;") && svg.includes("t &amp; u"));
  const large = svgOf({ ...given, size: [200, 200], url: "data:image/png;base64,AA", colour: () => "#000" });
  assert.ok(large.includes("<image href=\"data:image/png;base64,AA\"") && !large.includes("&lt;a&gt;"));
});
