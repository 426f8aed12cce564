// dashboard/data.js and outcomes.js: sums, days and numbers of the usage page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { days, exactly, formatted, groups, nameOf, presets, sums, toChf, toMicro } from "/dashboard/data.js";
import { inSeconds } from "/dashboard/outcomes.js";

const row = (operation, amount, more = {}) => ({ operation, amount, requests: 1, audio_seconds: 0, characters: 0, tokens: 0, day: "2026-01-01", ...more });

test("amounts are added up in whole micro-CHF", () => {
  assert.equal(toMicro("12.5"), 12_500_000);
  const all = sums(Array.from({ length: 10 }, () => row("speech", "0.10")));
  assert.deepEqual([all.amount, all.requests], [1_000_000, 10]);
});

test("an amount has two decimals, and a small one does not read as nothing", () => {
  assert.deepEqual([0, 1, 9_999, 10_000, 1_234_567_890].map(toChf), ["0.00", "< 0.01", "< 0.01", "0.01", "1,234.57"]);
});

test("an exact amount has at least two decimals and no more zeros", () => {
  assert.deepEqual([0, 325, 12_500_000, 1_000_000_000].map(exactly), ["0.00 CHF", "0.000325 CHF", "12.50 CHF", "1,000.00 CHF"]);
});

test("short audio is in seconds, longer audio in minutes", () => {
  assert.deepEqual([formatted(4_600, "audio"), formatted(90_000, "audio")], ["4.6 s", "1.5 min"]);
});

test("groups come by cost, then by requests", () => {
  const rows = [row("rerank", "0.00"), row("speech", "0.01"), row("embeddings", "0.00"), row("embeddings", "0.00")];
  assert.deepEqual(groups(rows, "operation").map(({ name }) => name), ["Text to speech", "Embeddings", "Rerank"]);
});

test("two keys of one name are two groups", () => {
  const rows = ["a", "b"].map((id) => row("speech", "0.01", { key: "app", key_prefix: `qk_${id}`, key_id: id }));
  assert.deepEqual(groups(rows, "key").map(({ name }) => name), ["app (qk_a…)", "app (qk_b…)"]);
});

test("a key that has left is named by its id", () => {
  assert.equal(nameOf(row("speech", "0.01", { key: null, key_prefix: null, key_id: "0123456789" }), "key"), "a key that has left (01234567)");
});

test("days are all of a period, with the leap day", () => {
  assert.deepEqual(days("2028-02-28", "2028-03-01"), ["2028-02-28", "2028-02-29", "2028-03-01"]);
  assert.deepEqual(days("2026-01-02", "2026-01-01"), []);
});

test("presets are of UTC's day", () => {
  const found = presets(Date.UTC(2026, 2, 1, 23, 59));
  assert.deepEqual(found["7 days"], ["2026-02-23", "2026-03-01"]);
  assert.deepEqual(found["This month"], ["2026-03-01", "2026-03-01"]);
});

test("times have two digits", () => {
  assert.deepEqual([null, 0.0123, 0.1234, 1.26, 12.6].map(inSeconds), ["–", "12 ms", "120 ms", "1.3 s", "13 s"]);
});
