// The panel of what was changed.

import { byId, make } from "/shared/dom.js";
import { List, cell, lines, moment } from "./list.js";

const ACTIONS = ["key.create", "key.change", "key.rotate", "key.revoke", "org.create", "org.change", "wallet.top_up", "usage.prune"];

export class AuditList {
  #list;

  constructor() {
    byId("audit").querySelector("[name=action]").append(...ACTIONS.map((action) => make("option", {}, action)));
    this.#list = new List(byId("audit"), { path: () => "audit", row, name: ({ id }) => id, nothing: () => "Nothing was changed." });
  }

  load() {
    return this.#list.load();
  }

  clear() {
    this.#list.clear();
  }
}

function row({ at, actor, origin, action, target, details }) {
  // What was not given when something was made says nothing.
  const given = Object.entries(details).filter(([, value]) => !action.endsWith(".create") || text("", value) !== "none");
  const shown = given.map(([name, value]) => `${name.replaceAll("_", " ")}: ${text(name, value)}`);
  return make(
    "tr", {},
    cell(moment(at), { class: "moment" }),
    make("td", {}, ...lines(actor, origin)),
    make("td", {}, make("code", {}, action)),
    cell(target),
    make("td", { class: "small" }, ...lines(...shown)),
  );
}

function text(name, value) {
  if (value === null) return "none";
  if (["expires_at", "before"].includes(name)) return moment(value);
  if (name === "overlap") return `${value / 3600} h`;
  if (typeof value !== "object") return String(value);
  return Object.entries(value).map(([each, amount]) => `${each} ${amount ?? "as its tier"}`).join(", ") || "none";
}
