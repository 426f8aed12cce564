// A transcript. Its words and segments light up while they play; a click or a key goes to one.

import { make, number } from "/shared/dom.js";

// Less probable words are shaded.
const UNSURE = 0.5;

export class Transcript {
  #node; #words = []; #segments = []; #lit = [];

  // `go` is called with the second to play from.
  constructor(node, go) {
    this.#node = node;
    node.addEventListener("click", ({ target }) => {
      const start = target.closest("button")?.dataset.start;
      if (start !== undefined) go(Number(start));
    });
    node.addEventListener("keydown", (event) => this.#step(event));
  }

  show({ segments, words = [] }) {
    const waiting = [...words];
    this.#words = [];
    this.#segments = segments.map((segment, place) => {
      const until = segments[place + 1]?.start ?? Infinity;
      const found = [];
      while (waiting.length && (waiting[0].start + waiting[0].end) / 2 < until) found.push(waiting.shift());
      const text = make("p", {}, ...(found.length ? found.flatMap((word) => this.#word(word)) : [segment.text]));
      const time = make("button", { type: "button", class: "small time", "data-start": segment.start }, clock(segment.start));
      return { ...segment, node: make("div", { class: "segment" }, time, text) };
    });
    this.#lit = [];
    this.#node.replaceChildren(...this.#segments.map(({ node }) => node));
    // One of them is in the order of Tab; arrows lead to the others.
    if (this.#words.length) this.#words[0].node.tabIndex = 0;
  }

  #word({ word, start, end, probability }) {
    const node = make("button", { type: "button", class: "word", tabindex: "-1", "data-start": start }, word.trim());
    if (probability < UNSURE) {
      node.classList.add("unsure");
      node.title = `Probability ${number(probability, 2)}`;
    }
    this.#words.push({ start, end, node });
    // Some languages have no spaces between words.
    return word.startsWith(" ") ? [" ", node] : [node];
  }

  // Lights up what plays at a second.
  light(seconds) {
    const now = [...this.#segments, ...this.#words].filter(({ start, end }) => start <= seconds && seconds < end).map(({ node }) => node);
    for (const node of this.#lit) node.classList.toggle("now", now.includes(node));
    for (const node of now) node.classList.add("now");
    this.#lit = now;
  }

  #step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = this.#words.findIndex(({ node }) => node === document.activeElement);
    const next = this.#words[at + by]?.node;
    if (at < 0 || !next) return;
    event.preventDefault();
    this.#words[at].node.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
