"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { cellAt, moved, shortened, within } = require(`${process.env.ZOO}/viz/explorer/assets/cells.js`);

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

test("a label at the end of an axis is moved so far that none of it is cut", () => {
  assert.deepStrictEqual([0, 50, 100].map((place) => within(place, 20, 100)), [10, 50, 90]);
});
