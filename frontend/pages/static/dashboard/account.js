// Who the key belongs to, how long the wallet lasts, and what is left of the limits.

import { byId, make, nameColumns, number } from "/shared/dom.js";
import { OPERATIONS } from "/shared/offer.js";
import { showWhose } from "/shared/sign_in.js";
import { exactly, toChf, toMicro } from "./data.js";

// A balance that lasts for less is warned of.
const LOW_DAYS = 7;

export function showAccount(account) {
  // The balance has a place of its own.
  showWhose({ ...account, balance: null });
  showBalance(account);
  byId("limits").replaceChildren(...account.limits.map(limitRow));
  nameColumns(byId("limits").closest("table"));
}

function showBalance({ balance, spent_a_day: spent }) {
  const [left, rate] = [balance, spent].map((chf) => (chf === null ? 0 : toMicro(chf)));
  byId("balance").textContent = balance === null ? "no wallet" : `${toChf(left)} CHF`;
  byId("balance").title = balance === null ? "" : exactly(left);
  byId("burn").hidden = balance === null;
  byId("rate").textContent = `${toChf(rate)} CHF a day`;
  byId("rate").title = exactly(rate);
  const days = rate ? left / rate : Infinity;
  byId("lasts").textContent = rate ? `the balance lasts ${inDays(days)}` : "nothing was spent in the last 7 days";
  byId("low").hidden = balance === null || (left > 0 && days >= LOW_DAYS);
  byId("low").textContent = left
    ? `The balance is low: as it was spent in the last 7 days, it lasts ${inDays(days)}.`
    : "The wallet is empty: requests that have a price are refused with 429 insufficient_quota until it is topped up.";
}

function inDays(days) {
  if (days < 1) return "less than a day";
  if (days > 365) return "more than a year";
  return Math.floor(days) === 1 ? "1 day" : `${number(Math.floor(days))} days`;
}

function limitRow({ name, limit, remaining }) {
  const left = make("meter", { max: limit, low: limit * 0.2, optimum: limit, value: remaining, "aria-label": `${remaining} of ${limit} left` });
  return make(
    "tr", {},
    make("th", { scope: "row" }, OPERATIONS[name] ?? name.replaceAll("_", " ")),
    make("td", {}, left),
    make("td", { class: "number" }, `${number(remaining)} of ${number(limit)}`),
  );
}
