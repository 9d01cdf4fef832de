"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { hasLine } = require(`${process.env.ZOO}/viz/explorer/assets/tokens.js`);

test("lines of other queries are those that stand out of an even share", () => {
  assert.ok(hasLine(0.05, 20, true));
  assert.ok(!hasLine(0.05, 20, false) && hasLine(0.1, 20, false));
  assert.ok(hasLine(0.02, 8, false));
});
