// What the server knows, and how it is added up: amounts in whole micro-CHF, so that sums are those of the ledger.

const MICRO = 1_000_000;
const UNITS = {
  transcriptions: (quantity) => `${number(quantity / 60_000, 1)} min`,
  speech: (quantity) => `${number(quantity)} characters`,
  embeddings: (quantity) => `${number(quantity)} tokens`,
  rerank: (quantity) => `${number(quantity)} tokens`,
};

export class SignedOut extends Error {}

export async function ask(path, key) {
  const response = await fetch(`/dashboard/data/${path}`, { headers: { Authorization: `Bearer ${key}` } });
  if (response.status === 401) throw new SignedOut("This key is not known, or it has ended.");
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
}

export function number(value, decimals = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export function quantity(row) {
  return UNITS[row.operation](row.quantity);
}

export function toMicro(chf) {
  const [whole, decimals] = chf.split(".");
  return Number(whole) * MICRO + Number(decimals.padEnd(6, "0"));
}

// With at least so many decimals.
export function toChf(micro, least = 2) {
  const decimals = String(micro % MICRO).padStart(6, "0").replace(/0+$/, "").padEnd(least, "0");
  return `${number(Math.floor(micro / MICRO))}.${decimals}`;
}

export function days(first, last) {
  const found = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += 86_400_000) {
    found.push(new Date(at).toISOString().slice(0, 10));
  }
  return found;
}

export function total(rows, measure) {
  return rows.reduce((sum, row) => sum + value(row, measure), 0);
}

// One line a group, one value a day.
export function byGroup(rows, group, allDays, measure) {
  const places = new Map(allDays.map((day, place) => [day, place]));
  const lines = new Map();
  for (const row of rows) {
    const line = lines.get(row[group]) ?? new Array(allDays.length).fill(0);
    line[places.get(row.day)] += value(row, measure);
    lines.set(row[group], line);
  }
  return lines;
}

function value(row, measure) {
  return measure === "amount" ? toMicro(row.amount) : row.requests;
}
