// A request as curl, Python and JavaScript, one at a time, each with a button that copies it.

import { copyButton, make } from "./dom.js";
import { recipes } from "./recipes.js";
import { tabs } from "./tabs.js";

const LANGUAGES = ["curl", "Python", "JavaScript"];
// The one that was chosen, for all requests of all pages in this tab.
const CHOSEN = "quartet-language";

export class Code {
  #texts = new Map();
  #chosen = "";

  // `name` begins the ids of what is made in `node`.
  constructor(node, name) {
    const list = make("div", { role: "tablist", "aria-label": "The request as", class: "tabs small" });
    const copy = copyButton(() => this.#texts.get(this.#chosen).textContent, "the request");
    node.append(make("div", { class: "bar" }, list, copy));
    for (const language of LANGUAGES) {
      const [tab, text] = [`${name}-${language}-tab`, `${name}-${language}`];
      list.append(make("button", { type: "button", role: "tab", id: tab, "aria-controls": text }, language));
      const shown = make("pre", { role: "tabpanel", id: text, "aria-labelledby": tab, tabindex: "0", class: "code" });
      this.#texts.set(language, shown);
      node.append(shown);
    }
    const choose = tabs(list, (tab) => this.#choose(tab.textContent));
    const tabOf = (language) => [...list.children].find((tab) => tab.textContent === language);
    choose(tabOf(sessionStorage.getItem(CHOSEN)) ?? list.firstElementChild);
    document.addEventListener(CHOSEN, (/** @type {any} */ { detail }) => detail !== this.#chosen && choose(tabOf(detail)));
  }

  #choose(language) {
    const before = this.#chosen;
    this.#chosen = language;
    if (!before) return;
    sessionStorage.setItem(CHOSEN, language);
    document.dispatchEvent(new CustomEvent(CHOSEN, { detail: language }));
  }

  show(request) {
    for (const [language, text] of Object.entries(recipes(request, location.origin))) {
      this.#texts.get(language).textContent = text;
    }
  }
}
