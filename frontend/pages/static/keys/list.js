// A table that is filled part by part.

import { make, nameColumns } from "/shared/dom.js";
import { Failure, ask } from "./session.js";

const ROWS = 50;
const TYPING_MS = 250;

export const cell = (text, attributes = {}) => make("td", attributes, text);

// What stands under each other in a cell.
export const lines = (...parts) => parts.map((part) => make("div", {}, part));

// A button of a row; `what` and `more` are in its name for screen readers.
export function action(text, what, done, more = "") {
  const does = `${text} ${what}`;
  const button = make("button", { type: "button", class: "small", "data-does": does, "aria-label": `${does}${more}` }, text);
  button.addEventListener("click", done);
  return button;
}

export const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");

export class List {
  #node; #options; #question = 0; #last = null;

  // options: path() below /admin/v1, given (what is asked for besides the filters), row (an element of what is answered),
  // name (what the row is called where it is the last), nothing(searched) (what is said of none), arrange (puts what is answered in the order in which it is shown).
  constructor(node, options) {
    [this.#node, this.#options] = [node, options];
    const form = this.#filters;
    let typing;
    form?.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.load(), TYPING_MS);
    });
    form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.load();
    });
    this.#of(".more").addEventListener("click", () => this.#add());
  }

  // The first part, in the place of what is shown.
  load() {
    this.#last = null;
    return this.#add();
  }

  clear() {
    this.#question++;
    this.#last = null;
    this.#filters?.reset();
    this.#show([], false, "");
    this.#of(".problem").textContent = "";
  }

  get #filters() {
    return this.#node.querySelector(":scope > form.filters, :scope > .bar > form.filters");
  }

  #of(selector) {
    return this.#node.querySelector(selector);
  }

  async #add() {
    const mine = ++this.#question;
    const filters = this.#filters ? Object.fromEntries(new FormData(this.#filters)) : {};
    const wanted = { limit: ROWS, ...this.#options.given, ...filters, after: this.#last ?? "" };
    const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== ""));
    try {
      const { data, has_more: more } = await ask("GET", `${this.#options.path()}?${query}`);
      // What is overtaken by a later question is not shown.
      if (mine !== this.#question) return;
      this.#of(".problem").textContent = "";
      const searched = Object.values(filters).some(Boolean);
      this.#show(data, more, this.#options.nothing(searched));
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      if (mine === this.#question) this.#of(".problem").textContent = failure.message;
    }
  }

  #show(rows, more, nothing) {
    const body = this.#of("tbody");
    if (this.#last === null) body.replaceChildren();
    const made = (this.#options.arrange?.(rows) ?? rows).map(this.#options.row);
    body.append(...made);
    nameColumns(this.#of("table"));
    this.#of(".nothing").textContent = body.children.length ? "" : nothing;
    if (!more && document.activeElement === this.#of(".more")) this.#of(".scroll").focus();
    this.#of(".more").hidden = !more;
    if (rows.length) this.#last = this.#options.name(rows.at(-1));
  }
}
