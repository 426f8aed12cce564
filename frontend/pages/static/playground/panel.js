// What the four panels share: a form that is sent, its progress, cancelling, and the answer.

import { Answer } from "/shared/answer.js";
import { Cancelled, ask, follow } from "/shared/ask.js";
import { Code } from "/shared/code.js";
import { make, number } from "/shared/dom.js";
import { storedKey } from "/shared/key.js";
import { askForKey, signOut } from "/shared/sign_in.js";

export class Panel {
  #code; #answer = new Answer("h2"); #controller; #result; #request; #show; #lacking;
  #submit; #cancel = make("button", { type: "button", hidden: "" }, "Cancel");
  #bar = make("progress", { max: "1", hidden: "", "aria-label": "Progress" });
  #clock = make("span", { class: "note", "aria-hidden": "true" });
  #error = make("p", { role: "alert" });

  // `request(fields)` returns the request, `lacking()` what is missing, and `show(answer, request)` the facts of an answer.
  // A request that is shown while its answer arrives has `begin(signal)`, which returns `take`, called with each piece, and `end`.
  constructor(node, request, show, lacking = () => "") {
    this.form = node.querySelector("form");
    [this.#request, this.#show, this.#lacking] = [request, show, lacking];
    this.#result = node.querySelector(".result");
    this.#submit = this.form.querySelector('button[type="submit"]');
    this.#submit.after(this.#cancel, this.#bar, this.#clock);
    this.form.append(this.#error);
    const card = make("section", { class: "card" }, make("h2", {}, "The request"));
    node.querySelector(".exchange").append(card, this.#answer.node);
    this.#code = new Code(card, node.id);
    this.form.addEventListener("input", () => this.update());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#cancel.addEventListener("click", () => this.#controller.abort());
  }

  get busy() {
    return !this.#cancel.hidden;
  }

  // Sends what the form has now.
  send() {
    if (!this.busy) this.#send();
  }

  refuse(message) {
    this.#error.textContent = message;
  }

  // Shows the request of the form as it is now, and returns it.
  update() {
    const request = this.#request(new FormData(this.form));
    this.#code.show(request);
    this.#submit.disabled = this.busy || Boolean(this.form.querySelector(".note.none"));
    return request;
  }

  async #send() {
    const request = this.update();
    const key = storedKey();
    if (!key) return askForKey("An API key is needed.");
    this.refuse(this.#lacking() || (this.form.querySelector(".note.over") ? "This is more than one request may have." : ""));
    if (this.#error.textContent) return;
    this.#answer.clear();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const coming = request.begin?.(signal);
    const end = this.#begin();
    try {
      const answer = await (coming ? follow(request, key, signal, coming.take) : ask(request, key, signal, (part) => this.#uploaded(part)));
      this.#answer.show(answer);
      if (answer.status === 401) return signOut(refusal(answer));
      if (answer.status !== 200) throw new Error(refusal(answer));
      const facts = await this.#show(answer, request);
      const entries = facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
      this.#result.querySelector(".facts").replaceChildren(...entries);
      this.#result.hidden = false;
      // On a phone it is below the screen.
      this.#result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      this.#error.textContent = error.message;
      if (!(error instanceof Cancelled)) this.#error.scrollIntoView({ block: "nearest" });
    } finally {
      coming?.end();
      end();
    }
  }

  // Shows the result before all of it is there.
  reveal() {
    this.#result.hidden = false;
    this.#result.removeAttribute("data-old");
  }

  #uploaded(part) {
    if (part < 1) this.#bar.value = part;
    else this.#bar.removeAttribute("value");
  }

  #begin() {
    const started = Date.now();
    const showProgress = () => {
      const sending = this.#bar.hasAttribute("value") && `sending, ${number(this.#bar.value * 100)} %`;
      this.#clock.textContent = `${sending || "working"}, ${number((Date.now() - started) / 1000)} s`;
    };
    this.#bar.removeAttribute("value");
    showProgress();
    const timer = setInterval(showProgress, 500);
    this.#busy(true);
    this.#cancel.focus();
    return () => {
      clearInterval(timer);
      const focused = document.activeElement === this.#cancel;
      this.#busy(false);
      this.#clock.textContent = "";
      if (focused) this.#submit.focus();
    };
  }

  #busy(busy) {
    this.#cancel.hidden = this.#bar.hidden = !busy;
    this.update();
    // The answer before stays until there is another.
    this.#result.toggleAttribute("data-old", busy);
  }
}

function refusal({ status, headers, body }) {
  const wait = headers.get("retry-after");
  const again = wait ? ` Try again in ${wait} s.` : "";
  try {
    return `${status}: ${JSON.parse(new TextDecoder().decode(body)).error.message}.${again}`;
  } catch {
    return `${status}: the answer is below.${again}`;
  }
}

// One text a line, without the empty ones.
export const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

export const read = (answer) => JSON.parse(new TextDecoder().decode(answer.body));

// Shows in `note` how many there are, and how many are allowed. With none, there is nothing to send.
export function count(note, found, most, what) {
  note.textContent = `${number(found)} of ${number(most)} ${what}`;
  note.classList.toggle("over", found > most);
  note.classList.toggle("none", !found);
}
