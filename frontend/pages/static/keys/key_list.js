// The panel of keys.

import { byId, make, number } from "/shared/dom.js";
import { openForm } from "./form.js";
import { List, action, cell, lines, moment } from "./list.js";
import { showSecret } from "./secret.js";
import { ask } from "./session.js";

const DAY = 86_400;
const MOST_DAYS = 36_500;

export class KeyList {
  #settings; #list;

  constructor() {
    const options = { path: () => "keys", given: { order: "desc" }, arrange: withOldSecrets, row: (key) => this.#row(key), name: ({ prefix }) => prefix, nothing: (searched) => (searched ? "There is no such key." : "There is no key yet: create the first one.") };
    this.#list = new List(byId("keys"), options);
    byId("new-key").addEventListener("click", () => this.#create());
  }

  start(settings) {
    this.#settings = settings;
    return this.#list.load();
  }

  // The keys of an organisation, whatever else was searched for.
  search(text) {
    byId("keys").querySelector("[name=search]").value = text;
    return this.#list.load();
  }

  clear() {
    this.#list.clear();
  }

  #row(key) {
    if (key.isOld) return oldSecretRow(key);
    const used = key.last_used_at === null ? "never used" : `used ${moment(key.last_used_at)}`;
    return make(
      "tr", {},
      make("th", { scope: "row" }, ...lines(key.name, make("code", {}, key.prefix))),
      make("td", {}, ...lines(key.org ?? "no organisation", key.tier)),
      make("td", { class: "small" }, ...lines(...this.#limits(key))),
      make("td", { class: "moment" }, ...lines(state(key), used, `made ${moment(key.created_at)}`)),
      this.#actions(key),
    );
  }

  #limits({ id, org, limits, tier }) {
    const own = Object.entries(limits).map(([name, amount]) => `${words(name)} ${number(amount)}/min`);
    const floors = Object.entries(this.#settings.floors);
    // As the queue finds whose slots a call may take. Bulk work has no floor.
    const owners = tier === "bulk" ? [] : [`key:${id}`, ...(org === null ? [] : [`org:${org}`])];
    const owner = owners.find((each) => floors.some(([, amounts]) => each in amounts));
    const kept = floors.filter(([, amounts]) => owner in amounts).map(([model, amounts]) => `floor of ${model}: ${amounts[owner]}${owner.startsWith("org:") ? ", shared" : ""}`);
    return own.length + kept.length ? [...own, ...kept] : ["limits of its tier"];
  }

  #actions(key) {
    const made = make("td", { class: "actions" });
    if (key.revoked_at !== null) return made;
    const actions = { Change: () => this.#change(key), Rotate: () => this.#rotate(key), Revoke: () => this.#revoke(key) };
    for (const [text, done] of Object.entries(actions)) made.append(action(text, key.prefix, done, `, ${key.name}`));
    return made;
  }

  #fields(key) {
    const { limits, limits_of_tiers: ofTiers, tiers, usual_tier: usual } = this.#settings;
    const tier = key.tier ?? usual;
    const amounts = Object.keys(limits).map((name) => ({
      name: `limits.${name}`, label: words(name), type: "number", min: 1, max: 1_000_000_000,
      value: key.limits?.[name] ?? "", placeholder: ofTiers[tier]?.[name] ?? limits[name],
    }));
    return [
      { name: "name", label: "Name", value: key.name ?? "", maxlength: 128, required: "", hint: "who or what it is for" },
      { name: "org", label: "Organisation", value: key.org ?? "", maxlength: 64, list: "known-orgs", hint: "empty: none" },
      { name: "tier", label: "Tier", options: tiers.toReversed(), value: tier, hint: "its place in the queue" },
      { name: "expires_in", label: "Expires in days", type: "number", min: 1, max: MOST_DAYS, hint: key.prefix ? "empty: as it is" : "empty: never" },
      ...(key.expires_at ? [{ name: "endless", label: "Never expires", type: "checkbox", hint: `instead of ${moment(key.expires_at)}` }] : []),
      { name: "limits", label: "Requests per minute", fields: amounts, hint: "empty: the limit of its tier" },
    ];
  }

  #open(key, options) {
    const form = openForm({ fields: this.#fields(key), ...options });
    const { endless, expires_in: days } = form.elements;
    endless?.addEventListener("change", () => (days.disabled = endless.checked));
    const known = make("datalist", { id: "known-orgs" });
    form.append(known);
    const offer = async () => {
      const search = form.elements.org.value;
      const { data } = await ask("GET", `orgs?${new URLSearchParams({ limit: "20", ...(search && { search }) })}`).catch(() => ({ data: [] }));
      known.replaceChildren(...data.map(({ name }) => make("option", { value: name })));
    };
    form.elements.org.addEventListener("input", offer);
    offer();
  }

  #create() {
    this.#open({}, {
      title: "Create a key",
      submit: "Create",
      send: async (values) => {
        const made = await ask("POST", "keys", bodyOf(values, {}));
        const focus = showSecret(made.key, `The new key ${values.name}. Whoever has it can use it.`);
        await this.#list.load();
        return { done: `Created ${made.prefix}, ${values.name}.`, focus };
      },
    });
  }

  #change(key) {
    this.#open(key, {
      title: `Change ${key.prefix}`,
      about: [`${key.name}: what is changed holds within 5 seconds.`],
      submit: "Save",
      send: async (values) => {
        await ask("PATCH", `keys/${key.prefix}`, bodyOf(values, key));
        await this.#list.load();
        return { done: `Changed ${key.prefix}, ${values.name}.` };
      },
    });
  }

  #rotate(key) {
    openForm({
      title: `Rotate ${key.prefix}`,
      about: [`${key.name} gets a new secret, which is shown once. The old one stays valid for a while, so that you can replace it.`],
      fields: [{ name: "overlap", label: "Old key stays valid for (hours)", type: "number", min: 0, max: 24 * MOST_DAYS, step: "any", value: 24, required: "" }],
      submit: "Rotate",
      send: async ({ overlap }) => {
        const made = await ask("POST", `keys/${key.prefix}/rotate`, { overlap: Math.round(overlap * 3600) });
        const focus = showSecret(made.key, `The new secret of ${key.name}; the old one, ${key.prefix}, ends after ${overlap} hours.`);
        await this.#list.load();
        return { done: `Rotated ${key.name}: ${made.prefix} is its new secret, ${key.prefix} ends after ${overlap} hours.`, focus };
      },
    });
  }

  #revoke(key) {
    openForm({
      title: `Revoke ${key.prefix}?`,
      about: [`${key.name}${key.org === null ? "" : ` of ${key.org}`} ends with all its secrets within 5 seconds, for good.`],
      submit: "Revoke",
      danger: true,
      send: async () => {
        await ask("DELETE", `keys/${key.prefix}`);
        await this.#list.load();
        return { done: `Revoked ${key.prefix}, ${key.name}.` };
      },
    });
  }
}

// The secrets that a rotation has left, below the one of their key that ends last.
function withOldSecrets(secrets) {
  const keys = new Map();
  for (const secret of secrets) keys.set(secret.id, [...(keys.get(secret.id) ?? []), secret]);
  const end = ({ expires_at: at }) => at ?? Infinity;
  const sorted = [...keys.values()].map((its) => its.toSorted((first, second) => (end(first) < end(second) ? 1 : end(first) > end(second) ? -1 : 0)));
  return sorted.flatMap(([newest, ...old]) => [newest, ...old.map((secret) => ({ ...secret, isOld: true }))]);
}

function oldSecretRow(secret) {
  const name = make("th", { scope: "row" }, ...lines("old secret", make("code", {}, secret.prefix)));
  return make("tr", { class: "old" }, name, cell(""), cell(""), make("td", { class: "moment" }, state(secret)), cell(""));
}

const words = (name) => name.replaceAll("_", " ");

function state({ expires_at: end, revoked_at: revoked }) {
  if (revoked !== null) return `revoked ${moment(revoked)}`;
  if (end === null) return "active";
  return `${end * 1000 <= Date.now() ? "expired" : "until"} ${moment(end)}`;
}

// What of a form is another than the key has: an empty limit is taken from it, and its end by an empty one.
function bodyOf({ expires_in: days, endless, ...values }, { limits: before = {}, ...key }) {
  const body = endless ? { expires_in: "" } : days ? { expires_in: days * DAY } : {};
  const limits = {};
  for (const [name, value] of Object.entries(values)) {
    const limit = name.startsWith("limits.") ? name.slice("limits.".length) : null;
    if (limit === null && value !== (key[name] ?? "")) body[name] = value;
    if (limit !== null && value !== String(before[limit] ?? "")) limits[limit] = value ? Number(value) : null;
  }
  return { ...body, ...(Object.keys(limits).length && { limits }) };
}
