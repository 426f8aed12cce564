// The panel of organisations, and the top-ups of one.

import { byId, make, number } from "/shared/dom.js";
import { buttonThat, openForm } from "./form.js";
import { List, action, cell, moment } from "./list.js";
import { ask } from "./session.js";

const NUMBER = { class: "number" };
const MOST_REQUESTS = 1_000_000_000;

export class OrgList {
  #list; #topUps; #shown = ""; #showKeys;

  // `showKeys` is called with the name of an organisation.
  constructor(showKeys) {
    this.#showKeys = showKeys;
    const options = { path: () => "orgs", row: (org) => this.#row(org), name: ({ name }) => name, nothing: (searched) => (searched ? "There is no such organisation." : "There is no organisation yet.") };
    this.#list = new List(byId("orgs"), options);
    const path = () => `orgs/${encodeURIComponent(this.#shown)}/topups`;
    this.#topUps = new List(byId("top-ups"), { path, row: topUpRow, name: ({ reference }) => reference, nothing: () => "Nothing was put into a wallet." });
    byId("new-org").addEventListener("click", () => this.#create());
    byId("top-ups-close").addEventListener("click", () => {
      const opener = buttonThat(`Top-ups of ${this.#shown}`);
      this.#hide();
      (opener ?? byId("new-org")).focus();
    });
  }

  load() {
    return this.#list.load();
  }

  clear() {
    this.#list.clear();
    this.#hide();
  }

  #hide() {
    this.#topUps.clear();
    this.#shown = byId("top-ups-title").textContent = "";
    byId("top-ups").hidden = true;
  }

  #row(org) {
    const { name, requests_per_minute: limit, keys, balance } = org;
    const actions = make("td", { class: "actions" });
    const does = { Limit: () => this.#limit(org), "Top up": () => this.#topUp(org), "Top-ups": () => this.#show(org) };
    for (const [text, done] of Object.entries(does)) actions.append(action(text, `of ${name}`, done));
    actions.append(action("Keys", `of ${name}`, () => this.#showKeys(name)));
    const amount = balance === null ? "no wallet" : `${balance} CHF`;
    return make("tr", {}, make("th", { scope: "row" }, name), cell(limit === null ? "no limit" : number(limit), NUMBER), cell(number(keys), NUMBER), cell(amount, NUMBER), actions);
  }

  async #show({ name }) {
    this.#topUps.clear();
    this.#shown = name;
    byId("top-ups-title").textContent = `Top-ups of ${name}`;
    byId("top-ups").hidden = false;
    await this.#topUps.load();
    byId("top-ups-title").focus();
  }

  #create() {
    openForm({
      title: "New organisation",
      fields: [{ name: "name", label: "Name", maxlength: 64, required: "", hint: "it cannot be changed" }, limitField("")],
      submit: "Create",
      send: async (values) => {
        await ask("POST", "orgs", bodyOf(values));
        await this.load();
        return { done: `Made the organisation ${values.name}.` };
      },
    });
  }

  #limit({ name, requests_per_minute: limit }) {
    openForm({
      title: `Limit of ${name}`,
      fields: [limitField(limit ?? "")],
      submit: "Save",
      send: async (values) => {
        await ask("PATCH", `orgs/${encodeURIComponent(name)}`, bodyOf(values));
        await this.load();
        return { done: `Changed the limit of ${name}.` };
      },
    });
  }

  #topUp({ name, balance }) {
    openForm({
      title: `Top up ${name}`,
      about: [balance === null ? "This makes a wallet: from then on, its keys pay from it." : `The balance is ${balance} CHF.`],
      fields: [
        { name: "amount", label: "CHF", inputmode: "decimal", required: "", placeholder: "25.50" },
        { name: "reference", label: "Reference", maxlength: 128, hint: "an invoice's number, say; under the same one, an amount is added once" },
      ],
      submit: "Add credit",
      send: async ({ amount: typed, reference }) => {
        const amount = typed.trim().replace(/^(\d+),(\d{1,6})$/, "$1.$2");
        await ask("POST", `orgs/${encodeURIComponent(name)}/topups`, { amount, reference });
        await this.load();
        if (this.#shown === name) await this.#topUps.load();
        return { done: `Added ${amount} CHF to ${name}.` };
      },
    });
  }
}

const topUpRow = ({ at, amount, reference }) => make("tr", {}, cell(moment(at)), cell(amount, NUMBER), cell(reference));

const limitField = (value) => ({
  name: "requests_per_minute", label: "Requests per minute", type: "number", min: 1, max: MOST_REQUESTS, value, hint: "of all its keys together; empty: no limit",
});

const bodyOf = ({ requests_per_minute: limit, ...values }) => ({ ...values, ...(limit && { requests_per_minute: Number(limit) }) });
