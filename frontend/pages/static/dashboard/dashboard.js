// The page: signs in with a key, asks for the days that are chosen, and shows what comes.

import { byId, make } from "/shared/dom.js";
import { storedKey } from "/shared/key.js";
import { Refusal, ask, read } from "/shared/read.js";
import { askForKey, showSignedIn, signInToTab, signOut } from "/shared/sign_in.js";
import { showAccount } from "./account.js";
import { dayOf, presets } from "./data.js";
import { showOutcomes } from "./outcomes.js";
import { showUsage } from "./usage.js";

const FIRST_SHOWN = "30 days";
const MOST_DAYS = 366;
const FIELDS = { first: "days-error", last: "days-error" };
const chosen = () => ({ first: byId("first").value, last: byId("last").value, by: byId("by").value });

// Beside the field that it is about, or above all where it is about none.
function say(text, field) {
  for (const [name, place] of [["", "message"], ...Object.entries(FIELDS)]) {
    if (name) byId(name).removeAttribute("aria-invalid");
    byId(place).textContent = "";
  }
  if (FIELDS[field]) byId(field).setAttribute("aria-invalid", "true");
  byId(FIELDS[field] ?? "message").textContent = text;
}

function fail(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status !== 401) return say(error.message, error.param);
  byId("account").hidden = true;
  signOut(error.message);
}

// What is wrong with the days, and the field that it is about.
function wrongDays({ first, last }) {
  const missing = ["first", "last"].find((id) => !byId(id).value);
  if (missing) return ["A day is missing, or there is no such day.", missing];
  if (first > last) return ["The first day must not be after the last.", "first"];
  if (Date.parse(last) - Date.parse(first) >= MOST_DAYS * 86_400_000) return [`At most ${MOST_DAYS} days are shown at once.`, "first"];
  return null;
}

// An answer that is overtaken by a later question is not shown.
let question = 0;
let answered = null;

// `anew`: the account too, which does not change with the days that are chosen.
async function refresh({ anew = false } = {}) {
  if (!storedKey()) {
    [answered, byId("account").hidden] = [null, true];
    return askForKey();
  }
  const wanted = chosen();
  markPreset(wanted);
  const wrong = wrongDays(wanted);
  if (wrong) return say(...wrong);
  const mine = ++question;
  const range = { first: wanted.first, last: wanted.last };
  try {
    const asked = [`usage?${new URLSearchParams({ ...range, by: `day,${wanted.by}` })}`, `outcomes?${new URLSearchParams(range)}`];
    const [account, usage, outcomes] = await Promise.all([(!anew && answered?.account) || read("account"), ...asked.map(read)]);
    if (mine !== question) return;
    say("");
    answered = { account, usage: usage.data };
    byId("as-of").textContent = `as of ${new Date().toLocaleTimeString("en-GB")}`;
    showSignedIn(true);
    byId("account").hidden = false;
    showAccount(account);
    showOutcomes(outcomes.data);
    draw();
  } catch (error) {
    fail(error);
  }
}

function draw() {
  showUsage(answered.usage, chosen(), answered.account.org);
}

function markPreset({ first, last }) {
  const known = presets(Date.now());
  for (const button of byId("presets").children) {
    button.setAttribute("aria-pressed", String(known[button.textContent]) === String([first, last]));
  }
}

function choose(days) {
  [byId("first").value, byId("last").value] = days;
}

async function download() {
  const { first, last, by } = chosen();
  const groups = by === "operation" ? "day,operation" : `day,operation,${by}`;
  try {
    const answer = await ask(`usage?${new URLSearchParams({ first, last, by: groups, format: "csv" })}`);
    const link = make("a", { href: URL.createObjectURL(await answer.blob()), download: `usage-${first}-${last}.csv` });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    fail(error);
  }
}

function start() {
  for (const name of Object.keys(presets(Date.now()))) {
    const button = make("button", { type: "button", "aria-pressed": "false" }, name);
    button.addEventListener("click", () => {
      choose(presets(Date.now())[name]);
      refresh();
    });
    byId("presets").append(button);
  }
  choose(presets(Date.now())[FIRST_SHOWN]);
  byId("first").max = byId("last").max = dayOf(Date.now());
  signInToTab(() => refresh({ anew: true }));
  for (const id of ["first", "last", "by"]) byId(id).addEventListener("change", () => refresh());
  byId("measure").addEventListener("change", draw);
  byId("choices").addEventListener("submit", (event) => event.preventDefault());
  byId("refresh").addEventListener("click", () => refresh({ anew: true }));
  byId("download").addEventListener("click", download);
  refresh();
}

start();
