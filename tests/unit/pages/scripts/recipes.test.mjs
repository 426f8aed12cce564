// shared/recipes.js: a request as a command or program.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { curl, recipes } from "/shared/recipes.js";

const ORIGIN = "http://127.0.0.1:8080";
const speech = { path: "/v1/audio/speech", json: { model: "tts-1", input: "It's \"here\" $HOME" }, saves: "speech.wav" };
const form = (name, ...fields) => ({ path: "/v1/audio/transcriptions", form: [["file", new File([], name)], ["model", "stt-1"], ...fields] });
// The words of a command, as a shell reads them.
const words = (command) => execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf-8" }).split("\0");

test("a shell passes the JSON on as it is", () => {
  const found = words(curl(speech, ORIGIN));
  assert.deepEqual(JSON.parse(found[found.indexOf("-d") + 1]), speech.json);
  assert.equal(found[found.indexOf("-o") + 1], "speech.wav");
});

test("a file name with quotes and backslashes stays one argument of curl", () => {
  const found = words(curl(form(`a "b" it's \\c.wav`), ORIGIN));
  assert.equal(found[found.indexOf("-F") + 1], `file=@"a \\"b\\" it's \\\\c.wav"`);
});

test("a field that begins with @ is a text", () => {
  const found = words(curl(form("a.wav", ["prompt", "@home"]), ORIGIN));
  assert.equal(found[found.lastIndexOf("--form-string") + 1], "prompt=@home");
});

test("a stream is shown without delay", () => {
  assert.match(curl(form("a.wav", ["stream", "true"]), ORIGIN), /^curl -sN /);
  assert.match(curl(form("a.wav"), ORIGIN), /^curl -s /);
});

test("Python has its own booleans, and repeated fields as a list", () => {
  const made = recipes(form("a.wav", ["timestamp_granularities[]", "word"], ["timestamp_granularities[]", "segment"], ["stream", "true"]), ORIGIN).Python;
  assert.match(made, /stream=True,/);
  assert.match(made, /timestamp_granularities=\["word", "segment"\],/);
  assert.match(made, /for event in answer:/);
});

test("subtitles are printed as text in both languages", () => {
  const { Python, JavaScript } = recipes(form("a.wav", ["response_format", "srt"]), ORIGIN);
  assert.match(Python, /print\(answer\)\n/);
  assert.match(JavaScript, /await answer\.text\(\)/);
});

test("every path of the playground has a call in Python", () => {
  for (const request of [speech, form("a.wav"), { path: "/v1/embeddings", json: { input: ["a"] } }, { path: "/v1/rerank", json: { query: "a" } }]) {
    assert.match(recipes(request, ORIGIN).Python, /client\./);
  }
});
