// What was used: the sum of each group, bars a day, and the days by themselves where they are asked for.

import { Code } from "/shared/code.js";
import { byId, make, nameColumns } from "/shared/dom.js";
import { firstRequest, offer } from "/shared/offer.js";
import { Chart } from "./chart.js";
import { MEASURES, days, exactly, groups, nameOf, sums, formatted } from "./data.js";

const QUANTITIES = ["audio", "characters", "tokens"];
const chart = new Chart(byId("chart"), byId("legend"), byId("readout"));
let code = null;

// `chosen` has first, last and by; `org` is whose it is.
export function showUsage(rows, chosen, org) {
  const all = sums(rows);
  showFigures(all);
  byId("used").hidden = !rows.length;
  byId("nothing").hidden = rows.length > 0;
  if (!rows.length) return showFirstRequest();
  const found = groups(rows, chosen.by);
  // Each unit has a column of its own, where there is something in it.
  const measures = ["amount", "requests", ...QUANTITIES.filter((measure) => all[measure])];
  byId("totals").replaceChildren(head([chosen.by], measures), body(found, measures), foot(org, all, measures));
  nameColumns(byId("totals"));
  offerMeasures(measures);
  showChart(found, chosen);
  showDays(rows, chosen.by, measures);
}

function showFigures(all) {
  byId("cost").textContent = `${formatted(all.amount, "amount")} CHF`;
  byId("cost").title = exactly(all.amount);
  byId("requests").textContent = formatted(all.requests, "requests");
}

function cells(values, measures) {
  return measures.map((measure) => {
    const exact = measure === "amount" ? { title: exactly(values[measure]) } : {};
    return make("td", { class: "number", ...exact }, values[measure] ? formatted(values[measure], measure) : measure === "amount" ? "0.00" : "–");
  });
}

function head(names, measures) {
  const titles = { ...MEASURES, amount: { title: "CHF" } };
  const columns = names.map((name) => make("th", { scope: "col" }, name[0].toUpperCase() + name.slice(1)));
  const numbers = measures.map((measure) => make("th", { scope: "col", class: "number" }, titles[measure].title));
  return make("thead", {}, make("tr", {}, ...columns, ...numbers));
}

function body(found, measures) {
  const rows = found.map((group) => make("tr", {}, make("th", { scope: "row" }, group.name), ...cells(group.sums, measures)));
  return make("tbody", {}, ...rows);
}

function foot(org, all, measures) {
  return make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, org ? `All of ${org}` : "All"), ...cells(all, measures)));
}

// What there is nothing of is not offered to be shown.
function offerMeasures(measures) {
  for (const option of byId("measure").options) option.hidden = option.disabled = !measures.includes(option.value);
  if (!measures.includes(byId("measure").value)) byId("measure").value = "amount";
}

function showChart(found, { first, last, by }) {
  const measure = byId("measure").value;
  const shown = days(first, last);
  const places = new Map(shown.map((day, place) => [day, place]));
  const lines = found
    .filter((group) => group.sums[measure])
    .map((group) => {
      const values = new Array(shown.length).fill(0);
      for (const row of group.rows) values[places.get(row.day)] += MEASURES[measure].of(row);
      return [group.name, values];
    });
  const { title, unit } = MEASURES[measure];
  const currency = measure === "amount" ? " CHF" : "";
  const name = `${title}${unit === title.toLowerCase() ? "" : ` in ${unit}`} a day by ${by}; the table above has the sums`;
  chart.draw({ days: shown, lines, measure: MEASURES[measure], format: (value) => formatted(value, measure) + currency, title: name });
}

function showDays(rows, by, measures) {
  const folded = byId("days");
  const fill = () => {
    if (!folded.open) return;
    const each = rows.toReversed().map((row) => {
      const names = [make("th", { scope: "row" }, row.day), make("td", {}, nameOf(row, by))];
      return make("tr", {}, ...names, ...cells(sums([row]), measures));
    });
    byId("by-day").replaceChildren(head(["day", by], measures), make("tbody", {}, ...each));
    nameColumns(byId("by-day"));
  };
  byId("by-day").replaceChildren();
  folded.ontoggle = fill;
  fill();
}

async function showFirstRequest() {
  const here = await offer().catch(() => null);
  if (!here) return;
  code ??= new Code(byId("first-request"), "first");
  code.show(firstRequest(here));
}
