// The form that asks for a key, the same on all pages, and the API key of this tab: whose it is, or why it is refused.

import { byId } from "./dom.js";
import { forgetKey, keepKey, storedKey } from "./key.js";
import { Refusal, read } from "./read.js";

// `take` is called with what was typed, `leave` when somebody signs out.
export function signIn(take, leave) {
  byId("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = byId("key").value.trim();
    byId("key").value = byId("message").textContent = "";
    take(key);
  });
  byId("sign-out").addEventListener("click", leave);
}

export function showSignedIn(signedIn) {
  byId("sign-in").hidden = signedIn;
  byId("whose").hidden = byId("sign-out").hidden = !signedIn;
}

export function askForKey(message = "") {
  showSignedIn(false);
  byId("message").textContent = message;
  byId("key").focus();
}

// `changed` is called when the tab has another key, or none.
export function signInToTab(changed) {
  const take = (key) => {
    keepKey(key);
    // The form goes, and the focus with it.
    byId("main").focus();
    changed();
  };
  signIn(take, () => {
    forgetKey();
    changed();
    byId("key").focus();
  });
}

export function signOut(message) {
  forgetKey();
  askForKey(message);
}

export async function showAccount() {
  showSignedIn(Boolean(storedKey()));
  byId("whose").textContent = byId("message").textContent = "";
  if (storedKey()) await read("account").then(showWhose, refuse);
}

export function showWhose({ org, key, tier, balance }) {
  byId("whose").textContent = [org, key, tier, balance && `${balance} CHF left`].filter(Boolean).join(" · ");
}

function refuse(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 401) signOut(error.message);
  else byId("message").textContent = error.message;
}
