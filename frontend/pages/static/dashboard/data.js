// What the server knows, and how it is added up: amounts in whole micro-CHF, so that sums are those of the ledger.

const MICRO = 1_000_000;
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

// Each unit for itself: what one counts is not added to what another does.
export function quantity({ audio_seconds, characters, tokens }) {
  const audio = audio_seconds < 60 ? `${number(audio_seconds, 3)} s` : `${number(audio_seconds / 60, 1)} min`;
  const parts = [audio_seconds && audio, characters && `${number(characters)} characters`, tokens && `${number(tokens)} tokens`];
  return parts.filter(Boolean).join(", ");
}

// The same rows with a name that no other key has: two keys may be called the same.
export function told(rows) {
  const ids = new Map();
  for (const { key, key_id } of rows) ids.set(key, (ids.get(key) ?? new Set()).add(key_id));
  return rows.map((row) => (ids.get(row.key).size > 1 ? { ...row, key: `${row.key} ${row.key_id.slice(0, 8)}` } : row));
}

export function toMicro(chf) {
  const [whole, decimals] = chf.split(".");
  return Number(whole) * MICRO + Number(decimals.padEnd(6, "0"));
}

// Of whole micro-CHF, with at least so many decimals.
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
