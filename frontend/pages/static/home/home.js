// The page: what is here, whether it answers, and what to put into a client.

import { Code } from "/shared/code.js";
import { byId, copyButton, make } from "/shared/dom.js";
import { OPERATIONS, describe, firstRequest, offer, priceText } from "/shared/offer.js";

const EVERY_SECONDS = 10;
const WORDS = {
  ready: "ready",
  loading: "loading: its Triton has it, and it does not answer yet",
  away: "away: no Triton answers for it",
  unfit: "unfit: its numbers are wrong on this machine, export it again",
};
// Where several models do one thing, the worst state is shown.
const ORDER = ["ready", "loading", "away", "unfit"];

// A repository from elsewhere does not say the way.
const exportItem = ([name, { way, skipped }]) =>
  make("li", {}, `${name}: ${way || "not known"}${skipped.map((each) => `; skipped ${each}`).join("")}`);

function modelRow({ id, operation, about, price, triton_models: tritonModels }) {
  const name = make("th", { scope: "row" }, make("code", {}, id), copyButton(() => id, id));
  const state = make("td", { class: "of-state", "data-models": tritonModels.join(" ") });
  const words = [OPERATIONS[operation], about].filter(Boolean).join(", ");
  return make("tr", {}, name, make("td", {}, words), state, make("td", {}, priceText(price)));
}

function showState(cell, states) {
  const tritonModels = cell.dataset.models.split(" ");
  const worst = ORDER.findLast((state) => tritonModels.some((name) => states[name] === state)) ?? "away";
  const behind = tritonModels.filter((name) => states[name] !== "ready");
  const some = behind.length && behind.length < tritonModels.length;
  cell.dataset.state = worst;
  cell.textContent = some ? `${WORDS[worst]} (${behind.join(", ")})` : WORDS[worst];
}

// Where health has a port of its own, or a proxy keeps it, nothing is said of it here.
async function readiness() {
  const answer = await fetch("/health/ready");
  return answer.status === 200 || answer.status === 503 ? answer.json() : null;
}

async function refresh() {
  const health = await readiness().catch(() => ({ status: "not ready", reason: "the server does not answer", models: {} }));
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".of-state"))) cell.hidden = !health;
  if (!health) return;
  for (const cell of document.querySelectorAll("td.of-state")) showState(cell, health.models);
  byId("state").dataset.state = health.status;
  const all = Object.values(health.models).every((state) => state === "ready");
  const text = health.reason ? `Not ready: ${health.reason}` : all ? "Ready: every model answers" : "Ready, but not every model answers";
  // A screen reader reads each change aloud, and only those.
  if (byId("state").textContent !== text) byId("state").textContent = text;
}

async function start() {
  const here = await offer().catch(() => null);
  if (!here) {
    byId("state").textContent = "What is served here cannot be read. Load the page again in a moment.";
    return;
  }
  const base = `${location.origin}/v1`;
  byId("base").append(make("code", {}, base), copyButton(() => base, "the base URL"));
  byId("models").append(...here.models.map(modelRow));
  byId("exports").append(...Object.entries(here.exports).map(exportItem));
  // A way that failed its checks is for an operator to see.
  byId("exports").closest("details").open = Object.values(here.exports).some(({ skipped }) => skipped.length);
  byId("voices").textContent = here.voices.length
    ? `Voices: ${here.voices.map((voice) => `${voice.name} (${describe(voice, here.accents)})`).join(", ")}`
    : "";
  byId("extensions").textContent = here.extensions ? `Extensions that are on: ${here.extensions.join(", ")}` : "";
  new Code(byId("first"), "first").show(firstRequest(here));
  await refresh();
  setInterval(() => document.hidden || refresh(), EVERY_SECONDS * 1000);
}

start();
