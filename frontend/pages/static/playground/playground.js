// The page: a key, and what can be tried with it.

import { byId, make } from "/shared/dom.js";
import { forgetKey, storedKey, takeKey } from "/shared/key.js";
import { bounds, offer } from "/shared/offer.js";
import { tabs } from "/shared/tabs.js";
import { compare } from "./compare.js";
import { listen } from "./listen.js";
import { rank } from "./rank.js";
import { transcribe } from "./transcribe.js";

async function account() {
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

function askForKey(message) {
  byId("message").textContent = message;
  forgetKey();
  byId("sign-in").hidden = false;
  byId("whose").hidden = byId("sign-out").hidden = true;
  byId("key").focus();
}

function signIn() {
  takeKey(byId("sign-in"), account);
  document.addEventListener("key-refused", ({ detail }) => askForKey(detail));
  byId("sign-out").addEventListener("click", () => {
    forgetKey();
    account();
    byId("key").focus();
  });
  account();
}

// Only what is served here is shown.
function offerModels({ models }) {
  for (const tab of byId("tabs").children) {
    const panel = byId(tab.getAttribute("aria-controls"));
    const found = models.filter(({ operation }) => operation === panel.id);
    tab.hidden = !found.length;
    panel.querySelector('select[name="model"]').append(...found.map(({ id }) => make("option", {}, id)));
  }
}

async function start() {
  signIn();
  const here = await offer().catch(() => null);
  if (!here) {
    byId("message").textContent = "What is served here cannot be read. Load the page again in a moment.";
    return;
  }
  offerModels(here);
  byId("bounds").textContent = bounds(here);
  const served = new Set(here.models.map(({ operation }) => operation));
  const choose = tabs(byId("tabs"), (tab) => history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`));
  const tabOf = (operation) => byId(`${operation}-tab`);
  const heard = served.has("transcriptions") ? transcribe(here) : null;
  const handOver = (file) => {
    choose(tabOf("transcriptions"));
    heard.hear(file);
  };
  if (served.has("speech")) listen(here, handOver);
  byId("hand-over").hidden = !heard;
  if (served.has("embeddings")) compare(here);
  if (served.has("rerank")) rank(here);
  const wanted = location.hash.slice(1);
  choose(served.has(wanted) ? tabOf(wanted) : byId("tabs").querySelector(":not([hidden])"));
}

start();
