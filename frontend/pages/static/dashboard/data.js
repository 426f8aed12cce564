// Sums of what the server answers: in whole micro-CHF, as in the ledger.

import { number } from "/shared/dom.js";
import { OPERATIONS } from "/shared/offer.js";

const MICRO = 1_000_000;
const CENT = 10_000;
const DAY = 86_400_000;

export function toMicro(chf) {
  const [whole, decimals] = chf.split(".");
  return Number(whole) * MICRO + Number(decimals.padEnd(6, "0"));
}

// Two decimals; what is more than nothing does not read as nothing.
export const toChf = (micro) => (0 < micro && micro < CENT ? "< 0.01" : number(Math.round(micro / CENT) / 100, 2));

// All decimals that there are.
export function exactly(micro) {
  const decimals = String(micro % MICRO).padStart(6, "0").replace(/0{1,4}$/, "");
  return `${number(Math.floor(micro / MICRO))}.${decimals} CHF`;
}

// What can be looked at, each in a unit of its own, of which a value counts the parts: `size` of them are one unit, `least`
// is the smallest step of an axis, `decimals` is the usual number of decimals.
export const MEASURES = {
  amount: { title: "Cost", unit: "CHF", size: MICRO, least: 1, decimals: 2, of: (row) => toMicro(row.amount) },
  requests: { title: "Requests", unit: "requests", size: 1, least: 1, decimals: 0, of: (row) => row.requests },
  audio: { title: "Audio", unit: "minutes", size: 60_000, least: 600, decimals: 0, of: (row) => Math.round(row.audio_seconds * 1000) },
  characters: { title: "Characters", unit: "characters", size: 1, least: 1, decimals: 0, of: (row) => row.characters },
  tokens: { title: "Tokens", unit: "tokens", size: 1, least: 1, decimals: 0, of: (row) => row.tokens },
};

export function formatted(value, measure) {
  if (measure === "amount") return toChf(value);
  if (measure !== "audio") return number(value);
  return value < 60_000 ? `${number(value / 1000, 1)} s` : `${number(value / 60_000, 1)} min`;
}

// What a group is called; two keys may have the same name, and one that has left has none.
export function nameOf(row, by) {
  if (by === "operation") return OPERATIONS[row.operation] ?? row.operation;
  if (by !== "key") return row[by];
  return row.key_prefix ? `${row.key} (${row.key_prefix}…)` : `a key that has left (${row.key_id.slice(0, 8)})`;
}

// By group: its name, the sum of each measure, and the rows that it comes from; those that cost most first.
export function groups(rows, by) {
  const found = new Map();
  for (const row of rows) {
    const id = by === "key" ? row.key_id : row[by];
    const group = found.get(id) ?? { name: nameOf(row, by), sums: sums([]), rows: [] };
    group.rows.push(row);
    found.set(id, group);
  }
  for (const group of found.values()) group.sums = sums(group.rows);
  return [...found.values()].sort((one, other) => other.sums.amount - one.sums.amount || other.sums.requests - one.sums.requests);
}

export function sums(rows) {
  const of = (measure) => rows.reduce((sum, row) => sum + MEASURES[measure].of(row), 0);
  return Object.fromEntries(Object.keys(MEASURES).map((measure) => [measure, of(measure)]));
}

export const dayOf = (at) => new Date(at).toISOString().slice(0, 10);

export function days(first, last) {
  const found = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY) found.push(dayOf(at));
  return found;
}

// First and last day, UTC, of what is looked at most.
export function presets(now) {
  const last = dayOf(now);
  const ago = (count) => [dayOf(now - (count - 1) * DAY), last];
  return { Today: ago(1), "7 days": ago(7), "30 days": ago(30), "This month": [`${last.slice(0, 8)}01`, last] };
}
