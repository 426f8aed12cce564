// A request with the key, which can be cancelled. XMLHttpRequest, because fetch reports no progress of an upload.

export class Cancelled extends Error {}

const GONE = "The server could not be reached, or it ended the connection.";

// `request` is as in recipes.js; `sent` is called with the share that was uploaded, from 0 to 1.
// Returns status, headers (a Map), body (an ArrayBuffer) and the seconds that all of it took.
export function ask({ path, json, form }, key, signal = new AbortController().signal, sent = (_part) => {}) {
  return new Promise((resolve, reject) => {
    const asked = new XMLHttpRequest();
    const started = performance.now();
    asked.open("POST", path);
    asked.responseType = "arraybuffer";
    asked.setRequestHeader("Authorization", `Bearer ${key}`);
    if (json) asked.setRequestHeader("Content-Type", "application/json");
    asked.upload.addEventListener("progress", ({ loaded, total }) => sent(total ? loaded / total : 1));
    asked.addEventListener("load", () =>
      resolve({
        status: asked.status,
        headers: headers(asked.getAllResponseHeaders()),
        body: asked.response,
        seconds: (performance.now() - started) / 1000,
      }),
    );
    asked.addEventListener("error", () => reject(new Error(GONE)));
    asked.addEventListener("abort", () => reject(new Cancelled("Cancelled.")));
    signal.addEventListener("abort", () => asked.abort());
    asked.send(json ? JSON.stringify(json) : filled(form));
  });
}

// The same by fetch, which returns an answer piece by piece: `take` is called with each piece (a Uint8Array) of a 200.
export async function follow({ path, json, form }, key, signal, take) {
  const started = performance.now();
  const failed = () => {
    throw signal.aborted ? new Cancelled("Cancelled.") : new Error(GONE);
  };
  const headers = { Authorization: `Bearer ${key}`, ...(json && { "Content-Type": "application/json" }) };
  const body = json ? JSON.stringify(json) : filled(form);
  const answer = await fetch(path, { method: "POST", headers, body, signal }).catch(failed);
  const [reader, pieces] = [answer.body.getReader(), []];
  for (;;) {
    const { done, value } = await reader.read().catch(failed);
    if (done) break;
    pieces.push(value);
    if (answer.ok) take(value);
  }
  const whole = await new Blob(pieces).arrayBuffer();
  return { status: answer.status, headers: new Map(answer.headers), body: whole, seconds: (performance.now() - started) / 1000 };
}

function filled(form) {
  const made = new FormData();
  for (const [name, value] of form) made.append(name, value);
  return made;
}

function headers(text) {
  const lines = text.trim().split("\r\n");
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]));
}
