"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { coloursOf, levelOf, inkOn, cellAt, moved, shortened } = require(`${process.env.ASSETS}/scales.js`);

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

test("a place lies in the cell under it, or in none", () => {
  const frame = { left: 10, top: 20, width: 30, height: 40 };
  assert.deepStrictEqual(cellAt(10, 20, frame, [4, 3]), { row: 0, column: 0 });
  assert.deepStrictEqual(cellAt(39, 59, frame, [4, 3]), { row: 3, column: 2 });
  assert.equal(cellAt(9, 20, frame, [4, 3]), null);
  assert.equal(cellAt(40, 59, frame, [4, 3]), null);
});

test("numbers stay inside and names fit", () => {
  assert.deepStrictEqual([moved(0, -1, 3), moved(2, 1, 3), moved(1, 1, 3)], [0, 2, 2]);
  assert.deepStrictEqual([shortened("class token", 8), shortened("cls", 8)], ["class t…", "cls"]);
});
