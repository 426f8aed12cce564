// playground: events of a stream, lines of a field, and the header of streamed speech.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ANSWERS, eventReader } from "/playground/answers.js";
import { lines } from "/playground/panel.js";
import { measured } from "/playground/sound.js";

const bytes = (text) => new TextEncoder().encode(text);

test("events are read wherever the network cuts them, within a character too", () => {
  const whole = bytes('data: {"delta": "Grü"}\n\ndata: {"delta": "ezi 🎈"}\n\n');
  for (let cut = 0; cut <= whole.length; cut++) {
    const found = [];
    const take = eventReader(({ delta }) => found.push(delta));
    for (const piece of [whole.subarray(0, cut), whole.subarray(cut)]) take(piece);
    assert.deepEqual(found, ["Grü", "ezi 🎈"]);
  }
});

test("empty lines are no texts", () => {
  assert.deepEqual(lines(" a \n\n\t\nb"), ["a", "b"]);
});

test("subtitles are saved as the server made them", () => {
  const { read, saves } = ANSWERS.srt;
  assert.deepEqual(saves, ["SRT"]);
  assert.equal(read({ body: bytes("1\n00:00:00,000 --> 00:00:01,000\nHello.\n").buffer }).text.split("\n")[2], "Hello.");
});

test("streamed speech gets its length into its header", () => {
  const wav = new Uint8Array(44 + 100);
  wav.set(bytes("RIFF"), 0);
  const view = new DataView(measured(wav.buffer));
  assert.deepEqual([view.getUint32(4, true), view.getUint32(40, true)], [136, 100]);
});
