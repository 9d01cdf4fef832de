"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { within } = require(`${process.env.ZOO}/viz/explorer/assets/media.js`);

test("a label at the end of an axis is moved so far that none of it is cut", () => {
  assert.deepStrictEqual([0, 50, 100].map((place) => within(place, 20, 100)), [10, 50, 90]);
});
