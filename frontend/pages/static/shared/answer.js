// The answer to a request: its status, headers and words.

import { copyButton, make, number } from "./dom.js";

const SHOWN = ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "content-type", "content-length"];
// More of an answer is not put into the page.
const LONGEST_BODY = 20_000;
// A vector, each number of which would be a line.
const VECTOR = /\[[\s\d.,e+-]{200,}\]/g;
const FIRST_NUMBERS = 3;

export class Answer {
  #status; #headers = make("dl", { class: "facts headers" }); #body = make("pre", { class: "code wrap", tabindex: "0" });
  #fold = make("details", { open: "" }, make("summary", {}, "Body")); #whole = "";

  // `heading` is the element of its title, such as h2.
  constructor(heading) {
    this.#status = make(heading);
    this.#body.setAttribute("aria-label", "The answer's body");
    this.#body.setAttribute("role", "group");
    this.#fold.append(make("div", { class: "bar" }, copyButton(() => this.#whole, "the answer")), this.#body);
    this.node = make("section", { class: "card", hidden: "" }, this.#status, this.#headers, this.#fold);
  }

  clear() {
    this.node.hidden = true;
  }

  show({ status, headers, body, seconds }) {
    this.#status.textContent = `The answer: ${status} after ${number(seconds, 2)} s`;
    const found = SHOWN.filter((name) => headers.has(name));
    this.#headers.replaceChildren(...found.flatMap((name) => [make("dt", {}, name), make("dd", {}, headers.get(name))]));
    const text = /^(application\/(json|x-subrip)|text\/)/.test(headers.get("content-type") ?? "");
    this.#fold.hidden = !text;
    this.#whole = text ? readable(new TextDecoder().decode(body)) : "";
    this.#body.textContent = shortened(this.#whole.replace(VECTOR, folded));
    this.node.hidden = false;
  }
}

// JSON with line breaks; other text as it is.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function folded(vector) {
  const numbers = vector.slice(1, -1).split(",").map((each) => each.trim());
  return `[${numbers.slice(0, FIRST_NUMBERS).join(", ")}, ... and ${number(numbers.length - FIRST_NUMBERS)} more]`;
}

function shortened(text) {
  return text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY)}\n... and ${number(text.length - LONGEST_BODY)} characters more` : text;
}
