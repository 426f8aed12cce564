// How requests ended and how long answers took, by operation.

import { byId, make, nameColumns, number } from "/shared/dom.js";
import { OPERATIONS } from "/shared/offer.js";

const COUNTS = ["answered", "mistaken", "refused", "failed", "hung_up"];
// More than this part of all is pointed out.
const WORRYING = { refused: 0.01, failed: 0.001 };

export function showOutcomes(rows) {
  byId("no-outcomes").hidden = rows.length > 0;
  byId("ended").hidden = byId("words").hidden = !rows.length;
  byId("outcomes").replaceChildren(...rows.map(outcomeRow));
  nameColumns(byId("outcomes").closest("table"));
}

function outcomeRow(row) {
  const name = make("th", { scope: "row" }, OPERATIONS[row.operation] ?? row.operation);
  const all = COUNTS.reduce((sum, each) => sum + row[each], 0);
  const counts = COUNTS.map((each) => {
    const worrying = row[each] > (WORRYING[each] ?? 1) * all;
    return make("td", { class: worrying ? "number worrying" : "number" }, number(row[each]));
  });
  const times = [row.p50_seconds, row.p95_seconds].map((seconds) => make("td", { class: "number" }, inSeconds(seconds)));
  return make("tr", {}, name, ...counts, ...times);
}

// Two digits are what is known of it.
export function inSeconds(seconds) {
  if (seconds === null) return "–";
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(2))} ms` : `${Number(seconds.toPrecision(2))} s`;
}
