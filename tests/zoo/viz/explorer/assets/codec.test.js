"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { gzipSync } = require("node:zlib");
const { bytesOf, inflated, split, valueAt, largest, written } = require(`${process.env.ZOO}/viz/explorer/assets/codec.js`);

const store = (bits, scales, levels) => {
  const high = levels.map((level) => (bits === 16 ? level >> 8 : level));
  const low = bits === 16 ? levels.map((level) => level & 255) : [];
  const bytes = Buffer.concat([Buffer.from(new Float32Array(scales).buffer), Buffer.from(high), Buffer.from(low)]);
  return split(new Uint8Array(bytes), { bits, scales: scales.length, numbers: levels.length });
};
const map = (signed = 0) => ({ at: [1, 2], size: [1, 3], signed });

test("packed bytes are unpacked as they were", async () => {
  const bytes = Buffer.from([0, 1, 254, 255]);
  const found = await inflated(bytesOf(`\n${gzipSync(bytes).toString("base64")}\n`));
  assert.deepStrictEqual([...found], [...bytes]);
});

test("a weight is the square of its share times the scale of its row", () => {
  const fine = store(16, [9, 0.5], [7, 7, 0, 65535, 32768]);
  assert.equal(valueAt(fine, map(), 0, 0), 0);
  assert.equal(valueAt(fine, map(), 0, 1), 0.5);
  assert.ok(Math.abs(valueAt(fine, map(), 0, 2) - 0.125) < 1e-5);
  assert.equal(largest(fine, map()), 0.5);
});

test("signed weights have their sign in the first bit", () => {
  const coarse = store(8, [9, 2], [7, 7, 127, 255, 128]);
  assert.deepStrictEqual([0, 1, 2].map((column) => valueAt(coarse, map(1), 0, column)), [2, -2, -0]);
});

test("numbers are written with the digits that are known", () => {
  assert.deepStrictEqual([written(0.5412, 16), written(0.5412, 8), written(0, 16)], ["0.541", "≈ 0.54", "0.000"]);
  assert.equal(written(0.00004, 16), "4.0e-5");
  assert.deepStrictEqual([0.00507, -0.0812, 0].map((value) => written(value, 8)), ["≈ 0.0051", "≈ -0.081", "≈ 0.00"]);
});
