// The admin key: a variable of this page and nothing else, and what is asked with it.

const IDLE_MS = 15 * 60_000;
const LOOK_MS = 5_000;
const IDLE = "Signed out: the page was not used for 15 minutes.";

let key = "";
let used = 0;
let ended = (_reason) => {};

// A refusal by the server, or by a proxy before it; `param` names the parameter, 0 is no status.
export class Failure extends Error {
  constructor(message, param = null, status = 0) {
    super(message);
    this.param = param;
    this.status = status;
  }
}

// `whenEnded` is called with the reason when the key is forgotten.
export function begin(text, whenEnded) {
  [key, used, ended] = [text, Date.now(), whenEnded];
}

export function end(reason = "") {
  if (!key) return;
  key = "";
  ended(reason);
}

function endIfIdle() {
  if (Date.now() - used >= IDLE_MS) end(IDLE);
}

function use() {
  endIfIdle();
  used = Date.now();
}

setInterval(endIfIdle, LOOK_MS);
// A machine that slept has not counted.
document.addEventListener("visibilitychange", endIfIdle);
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, use, { capture: true });
// A page that is left may be kept, to be shown again.
addEventListener("pagehide", () => end());

// What /admin/v1 answers, or a Failure.
export async function ask(method, path, body) {
  use();
  if (!key) throw new Failure(IDLE);
  const headers = { Authorization: `Bearer ${key}`, ...(body && { "Content-Type": "application/json" }) };
  const text = body && JSON.stringify(body);
  const answer = await fetch(`/admin/v1/${path}`, { method, headers, cache: "no-store", body: text }).catch(() => null);
  if (!answer) throw new Failure("The server does not answer.");
  // A proxy's own error is no JSON.
  const content = await answer.json().catch(() => null);
  if (answer.ok && content) return content;
  const wait = answer.status === 429 ? ` (in ${answer.headers.get("Retry-After")} s)` : "";
  const failure = new Failure(
    `${answer.status}: ${content?.error?.message ?? (answer.statusText || "the answer cannot be read")}${wait}`,
    content?.error?.param ?? null,
    answer.status,
  );
  if (answer.status === 401 || answer.status === 429) end(failure.message);
  throw failure;
}
