// shared/offer.js: models, voices and prices in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, firstRequest, firstVoice, priceOf } from "/shared/offer.js";

const amy = { name: "amy", language: "en", gender: "female" };
const thorsten = { name: "thorsten", language: "de", gender: "male" };
const here = {
  models: [
    { id: "stt-1", operation: "transcriptions", price: { chf: "0.006", unit: "minute" } },
    { id: "tts-1", operation: "speech", price: { chf: "5.00", unit: "million_characters" } },
    { id: "embed-m3", operation: "embeddings", price: { chf: "0.00", unit: "million_tokens" } },
  ],
  voices: [thorsten, amy],
};

test("a price has the number and unit of the server", () => {
  assert.equal(priceOf(here, "stt-1"), "0.006 CHF a minute");
  assert.equal(priceOf(here, "tts-1"), "5.00 CHF a million characters");
});

test("a price of nothing is free", () => {
  assert.equal(priceOf(here, "embed-m3"), "free");
});

test("a voice has its language, and the accent where it has another", () => {
  assert.equal(describe(amy, {}), "English, female");
  assert.equal(describe(thorsten, { thorsten: "es" }), "German, male, with the accent of Spanish");
});

test("the first voice has the wanted language, or else English, or else any", () => {
  assert.equal(firstVoice(here, "de"), thorsten);
  assert.equal(firstVoice(here, "fr"), amy);
  assert.equal(firstVoice({ voices: [thorsten] }, "fr"), thorsten);
});

test("the first request is of the first model that needs no recording", () => {
  assert.deepEqual(firstRequest(here).json.voice, "amy");
  assert.equal(firstRequest({ ...here, models: here.models.slice(2) }).path, "/v1/embeddings");
  assert.equal(firstRequest({ ...here, models: here.models.slice(0, 1) }).path, "/v1/audio/transcriptions");
});
