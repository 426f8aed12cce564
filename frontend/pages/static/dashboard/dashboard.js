// The page: signs in with a key, asks, and shows.

import { forgetKey, storedKey, takeKey } from "/shared/key.js";
import { Chart } from "./chart.js";
import { SignedOut, ask, byGroup, days, number, quantity, toChf, toMicro, told, total } from "./data.js";

const FIRST_SHOWN_DAYS = 30;
const element = (id) => document.getElementById(id);
const chart = new Chart(element("chart"), element("legend"), element("readout"));

function show(signedIn) {
  for (const id of ["account", "sign-out", "whose"]) element(id).hidden = !signedIn;
  element("sign-in").hidden = signedIn;
  if (!signedIn) element("key").focus();
}

function say(text) {
  element("message").textContent = text;
  element("message").hidden = !text;
}

function cell(text, kind = "td") {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
}

function numberCell(text) {
  const made = cell(text);
  made.className = "number";
  return made;
}

function row(...cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function showAccount(account) {
  element("whose").textContent = [account.org, account.key, account.tier].filter(Boolean).join(" · ");
  element("balance").textContent = account.balance === null ? "no wallet" : `${toChf(toMicro(account.balance))} CHF`;
  element("limits").replaceChildren(...account.limits.map(limitRow));
}

function limitRow({ name, limit, remaining }) {
  const used = document.createElement("meter");
  [used.max, used.high, used.value] = [limit, limit * 0.8, limit - remaining];
  used.setAttribute("aria-label", `${limit - remaining} of ${limit} used`);
  const bar = document.createElement("td");
  bar.append(used);
  return row(cell(name.replace("_", " "), "th"), numberCell(number(limit)), numberCell(number(remaining)), bar);
}

function showUsage(rows, choices) {
  const { by, first, last, measure } = choices;
  const [amount, requests] = [total(rows, "amount"), total(rows, "requests")];
  element("cost").textContent = `${toChf(amount)} CHF`;
  element("requests").textContent = number(requests);
  element("all-amount").textContent = toChf(amount, 6);
  element("all-requests").textContent = number(requests);
  element("group-title").textContent = by[0].toUpperCase() + by.slice(1);
  element("nothing").hidden = rows.length > 0;
  element("rows").replaceChildren(...rows.toReversed().map((each) => usageRow(each, by)));
  const shownDays = days(first, last);
  chart.draw({
    days: shownDays,
    lines: byGroup(rows, by, shownDays, measure),
    format: measure === "amount" ? toChf : (value) => number(value),
    title: `${measure === "amount" ? "Cost in CHF" : "Requests"} a day by ${by}; the table below has the numbers`,
  });
}

function usageRow(each, by) {
  const name = by === "key" ? `${each.key} (${each.operation})` : each[by];
  return row(
    cell(each.day, "th"), cell(name), numberCell(quantity(each)), numberCell(number(each.requests)), numberCell(toChf(toMicro(each.amount), 6)),
  );
}

function choices() {
  return Object.fromEntries(["first", "last", "by", "measure"].map((id) => [id, element(id).value]));
}

function query({ first, last, by }, format) {
  const groups = by === "operation" ? "day,operation" : `day,operation,${by}`;
  return `usage?${new URLSearchParams({ first, last, by: groups, format })}`;
}

// An answer that is overtaken by a later question is not shown.
let question = 0;

async function refresh() {
  const key = storedKey();
  if (!key) return show(false);
  const mine = ++question;
  const chosen = choices();
  if (!element("choices").checkValidity() || chosen.first > chosen.last) return say("The first day must not be after the last.");
  try {
    const answers = await Promise.all([ask("account", key), ask(query(chosen, "json"), key)]);
    const [account, usage] = await Promise.all(answers.map((answer) => answer.json()));
    if (mine !== question) return;
    say("");
    show(true);
    showAccount(account);
    showUsage(told(usage.data), chosen);
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  if (error instanceof SignedOut) {
    forgetKey();
    show(false);
  }
  say(error.message);
}

async function download() {
  try {
    const answer = await ask(query(choices(), "csv"), storedKey());
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `usage-${element("first").value}-${element("last").value}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    fail(error);
  }
}

function start() {
  const now = Date.now();
  const day = (at) => new Date(at).toISOString().slice(0, 10);
  element("last").value = day(now);
  element("first").value = day(now - (FIRST_SHOWN_DAYS - 1) * 86_400_000);
  takeKey(element("sign-in"), refresh);
  element("sign-out").addEventListener("click", () => {
    forgetKey();
    show(false);
  });
  element("choices").addEventListener("change", refresh);
  element("choices").addEventListener("submit", (event) => event.preventDefault());
  element("download").addEventListener("click", download);
  refresh();
}

start();
