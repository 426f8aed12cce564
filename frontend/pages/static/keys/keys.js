// The page: signs in with the admin key, and shows what it administers.

import { byId } from "/shared/dom.js";
import { tabs } from "/shared/tabs.js";
import { AuditList } from "./audit_list.js";
import { closeForms } from "./form.js";
import { KeyList } from "./key_list.js";
import { OrgList } from "./org_list.js";
import { hideSecret } from "./secret.js";
import { Failure, ask, begin, end } from "./session.js";

const keys = new KeyList();
const orgs = new OrgList((name) => {
  choose(byId("keys-tab"));
  keys.search(name);
});
const audit = new AuditList();
let signedIn = false;

const choose = tabs(byId("tabs"), (tab) => {
  if (signedIn && tab.id === "orgs-tab") orgs.load();
  if (signedIn && tab.id === "audit-tab") audit.load();
});

function show(isSignedIn) {
  signedIn = isSignedIn;
  byId("signed-in").hidden = byId("sign-out").hidden = !signedIn;
  byId("sign-in").hidden = signedIn;
}

function signedOut(reason) {
  closeForms();
  hideSecret();
  for (const list of [keys, orgs, audit]) list.clear();
  show(false);
  byId("message").textContent = reason;
  byId("key").focus();
}

async function signIn(event) {
  event.preventDefault();
  const text = byId("key").value.trim();
  byId("key").value = byId("message").textContent = "";
  begin(text, signedOut);
  try {
    const settings = await ask("GET", "settings");
    show(true);
    choose(byId("keys-tab"));
    await keys.start(settings);
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    end();
    byId("message").textContent = failure.message;
  }
}

byId("sign-in").addEventListener("submit", signIn);
byId("sign-out").addEventListener("click", () => end());
byId("key").focus();
