"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { scaleOf, ticksOf } = require(`${process.env.ZOO}/pages/assets/scales.js`);

const near = (found, wanted) => found.forEach((value, place) => assert.ok(Math.abs(value - wanted[place]) < 1e-9, `${found} is not ${wanted}`));

test("equal differences are equal distances, and equal ratios on a logarithmic axis", () => {
  near([0, 5, 10].map(scaleOf([0, 10], [300, 100])), [300, 200, 100]);
  near([1, 10, 100].map(scaleOf([1, 100], [0, 8], true)), [0, 4, 8]);
});

test("what no logarithm has stands at the low end, and an axis of one value has a place", () => {
  near([0, -3].map(scaleOf([1, 100], [20, 8], true)), [20, 20]);
  near([7].map(scaleOf([7, 7], [5, 50])), [5]);
});

test("ticks are the finest whose labels have room", () => {
  const wide = scaleOf([0, 1], [0, 600]), narrow = scaleOf([0, 1], [0, 90]);
  near(ticksOf([0, 1], wide, 50), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  near(ticksOf([0, 1], narrow, 40), [0, 0.5, 1]);
  assert.equal(ticksOf([0, 1], wide, 50).length, 11);
  assert.equal(ticksOf([0, 1], narrow, 40).length, 3);
});

test("logarithmic ticks thin out to 1 2 5, to 1 3 and to powers of ten", () => {
  const ticks = (pixels) => ticksOf([1, 100], scaleOf([1, 100], [0, pixels], true), 30, true).map((tick) => Math.round(tick));
  assert.deepStrictEqual(ticks(300), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepStrictEqual(ticks(140), [1, 3, 10, 30, 100]);
  assert.deepStrictEqual(ticks(70), [1, 10, 100]);
});
