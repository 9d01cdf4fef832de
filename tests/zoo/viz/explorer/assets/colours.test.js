"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { coloursOf, levelOf, inkOn } = require(`${process.env.ZOO}/viz/explorer/assets/colours.js`);

test("colours are read from hexadecimal digits", () => {
  assert.deepStrictEqual(coloursOf("440154fde725"), [[68, 1, 84], [253, 231, 37]]);
});

test("levels grow with the root and stay inside", () => {
  assert.deepStrictEqual([0, 0.25, 1, 2, -1].map((value) => levelOf(value, 1, 256)), [0, 128, 255, 255, 255]);
  assert.equal(levelOf(1, 0, 256), 0);
});

test("text is black on bright and white on dark colours", () => {
  assert.deepStrictEqual([inkOn([253, 231, 37]), inkOn([68, 1, 84])], ["#000", "#fff"]);
});
