// One request with the key: its way up is told, and it can be cancelled. XMLHttpRequest, since fetch tells of no upload.

export class Cancelled extends Error {}

// `request` is as in recipes.js; `sent` is told which part has gone up, from 0 to 1.
// Gives status, headers (a Map), body (an ArrayBuffer) and the seconds that all of it took.
export function ask({ path, json, form }, key, signal = new AbortController().signal, sent = () => {}) {
  return new Promise((resolve, reject) => {
    const asked = new XMLHttpRequest();
    const started = performance.now();
    asked.open(json || form ? "POST" : "GET", path);
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
    asked.addEventListener("error", () => reject(new Error("The server could not be reached, or it ended the connection.")));
    asked.addEventListener("abort", () => reject(new Cancelled("Cancelled.")));
    signal.addEventListener("abort", () => asked.abort());
    asked.send(json ? JSON.stringify(json) : form && filled(form));
  });
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
