// The page: signs in with the admin key, and shows what it administers.

import { byId } from "/shared/dom.js";
import { keepKey, storedKey } from "/shared/key.js";
import { askForKey, showSignedIn, signIn } from "/shared/sign_in.js";
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
  byId("keys-tab").focus();
  keys.search(name);
});
const audit = new AuditList();
const NEEDS_ADMIN_KEY = "This page needs the admin key. The other pages use the API key that this tab has.";
let signedIn = false;

const choose = tabs(byId("tabs"), (tab) => {
  if (signedIn && tab.id === "orgs-tab") orgs.load();
  if (signedIn && tab.id === "audit-tab") audit.load();
});

function show(isSignedIn) {
  signedIn = isSignedIn;
  byId("signed-in").hidden = !signedIn;
  showSignedIn(signedIn);
}

function signedOut(reason) {
  closeForms();
  hideSecret();
  for (const list of [keys, orgs, audit]) list.clear();
  show(false);
  byId("done").textContent = "";
  askForKey(reason);
}

async function take(text) {
  begin(text, signedOut);
  try {
    const settings = await ask("GET", "settings");
    show(true);
    choose(byId("keys-tab"));
    byId("keys-tab").focus();
    await keys.start(settings);
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    end();
    const isApiKey = failure.status === 401 && text.startsWith("qk_");
    askForKey(isApiKey ? NEEDS_ADMIN_KEY : failure.message);
    if (isApiKey && !storedKey()) keepKey(text);
  }
}

signIn(take, () => end());
askForKey(storedKey() ? NEEDS_ADMIN_KEY : "");
