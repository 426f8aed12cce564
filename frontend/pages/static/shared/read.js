// What /dashboard/data answers to the API key of this tab.

import { storedKey } from "./key.js";

// `param` is the parameter that it is about, where it is about one; 0 is no status.
export class Refusal extends Error {
  constructor(status, message, param = undefined) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

export async function ask(path) {
  const answer = await fetch(`/dashboard/data/${path}`, { headers: { Authorization: `Bearer ${storedKey()}` } }).catch(() => null);
  if (!answer) throw new Refusal(0, "The server does not answer.");
  if (answer.ok) return answer;
  // A proxy's own error is no JSON.
  const { error } = (await answer.json().catch(() => null)) ?? {};
  throw new Refusal(answer.status, `${answer.status}: ${error?.message ?? (answer.statusText || "the answer says nothing more")}.`, error?.param);
}

export async function read(path) {
  const answer = await ask(path);
  return answer.json().catch(() => {
    throw new Refusal(answer.status, "What answered is not this service: a proxy or a sign-in page may stand before it.");
  });
}
