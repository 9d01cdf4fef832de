"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { toAddress, fromAddress } = require(`${process.env.ZOO}/viz/explorer/assets/address.js`);

test("what is chosen comes back from the address", () => {
  const state = { map: "rollout of encoder, mean & max", row: 3, column: 0, step: 12, under: "entropy", way: "read" };
  assert.deepStrictEqual(fromAddress(`#${toAddress(state)}`), state);
});

test("what is no choice is left out", () => {
  assert.deepStrictEqual(fromAddress("#row=-1&column=x&step=&__proto__=1&map=%E0%A4%A&way"), { way: "" });
  assert.deepStrictEqual(fromAddress(""), {});
});
