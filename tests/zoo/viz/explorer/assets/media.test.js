"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { makeGraph } = require(`${process.env.ZOO}/viz/explorer/assets/media.js`);

/** Draws nodes on a canvas that notes texts and radii, where other files of the page do nothing. */
function drawn(places, names) {
  const texts = [], radii = [];
  const canvas = new Proxy({ fillText: (text) => texts.push(text), arc: (x, y, radius) => radii.push(radius) },
    { get: (known, name) => known[name] ?? (() => {}) });
  const none = () => "";
  Object.assign(globalThis, { element: () => ({}), sized: () => canvas, mapOf: (pane) => pane.maps[0], styled: none, css: none, inkOn: none });
  const maps = [{ rows: "target", columns: "source", size: [2, places.length] }];
  makeGraph({ medium: { places, edges: [], names }, maps }, [], { clientWidth: 300 }).show(null);
  return { texts, radii: [...new Set(radii)] };
}

test("nodes have their names, in larger circles, and the others their numbers", () => {
  const places = [[0, 0], [1, 1], [0.5, 1]];
  assert.deepStrictEqual(drawn(places, ["C 0", "O 1"]), { texts: ["C 0", "O 1", "2"], radii: [15] });
  assert.deepStrictEqual(drawn(places), { texts: ["0", "1", "2"], radii: [11] });
});

test("of many nodes none has a name", () => {
  const places = Array.from({ length: 61 }, (_, place) => [place / 60, 0]);
  assert.deepStrictEqual(drawn(places, ["C 0"]), { texts: [], radii: [5] });
});
