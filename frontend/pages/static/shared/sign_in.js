// The API key of this tab: asked for where there is none, and whose it is.

import { byId } from "./dom.js";
import { forgetKey, storedKey, takeKey } from "./key.js";

// Shows whose the key is, or why it is not accepted.
export async function account() {
  const key = storedKey();
  byId("sign-in").hidden = Boolean(key);
  byId("whose").hidden = byId("sign-out").hidden = !key;
  byId("whose").textContent = byId("message").textContent = "";
  if (!key) return;
  const answer = await fetch("/dashboard/data/account", { headers: { Authorization: `Bearer ${key}` } }).catch(() => null);
  if (!answer?.ok) return say(answer);
  const { key: name, org, tier, balance } = await answer.json();
  byId("whose").textContent = [org, name, tier, balance && `${balance} CHF left`].filter(Boolean).join(" · ");
}

async function say(answer) {
  // A proxy's own error is no JSON.
  const { error } = (await answer?.json().catch(() => null)) ?? {};
  const message = answer ? `${answer.status}: ${error?.message ?? answer.statusText}.` : "The server does not answer.";
  if (answer?.status === 401) askForKey(message);
  else byId("message").textContent = message;
}

export function askForKey(message) {
  byId("message").textContent = message;
  forgetKey();
  byId("sign-in").hidden = false;
  byId("whose").hidden = byId("sign-out").hidden = true;
  byId("key").focus();
}

export function signIn() {
  takeKey(byId("sign-in"), account);
  byId("sign-out").addEventListener("click", () => {
    forgetKey();
    account();
    byId("key").focus();
  });
  account();
}
