// The page: a key, and what can be tried with it.

import { byId, make } from "/shared/dom.js";
import { offer } from "/shared/offer.js";
import { showAccount, signInToTab } from "/shared/sign_in.js";
import { tabs } from "/shared/tabs.js";
import { compare } from "./compare.js";
import { listen } from "./listen.js";
import { rank } from "./rank.js";
import { transcribe } from "./transcribe.js";

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
  signInToTab(showAccount);
  showAccount();
  const here = await offer().catch(() => null);
  if (!here) {
    byId("message").textContent = "What is served here cannot be read. Load the page again in a moment.";
    return;
  }
  offerModels(here);
  const served = new Set(here.models.map(({ operation }) => operation));
  const choose = tabs(byId("tabs"), (tab) => history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`));
  const tabOf = (operation) => byId(`${operation}-tab`);
  const recordings = served.has("transcriptions") ? transcribe(here) : null;
  const handOver = (file) => {
    choose(tabOf("transcriptions"));
    recordings.openAndSend(file);
  };
  if (served.has("speech")) listen(here, handOver);
  byId("hand-over").hidden = !recordings;
  if (served.has("embeddings")) compare(here);
  if (served.has("rerank")) rank(here);
  const wanted = location.hash.slice(1);
  choose(served.has(wanted) ? tabOf(wanted) : byId("tabs").querySelector(":not([hidden])"));
}

start();
