// What went over the wire: the request as programs send it, and the answer's status, headers and words.

import { Code } from "/shared/code.js";
import { copyButton, make, number } from "/shared/dom.js";

const SHOWN = ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "content-type", "content-length"];
// More of an answer is not put into the page.
const LONGEST_BODY = 20_000;

export class Exchange {
  #code; #answer = make("section", { class: "card", hidden: "" });
  #status = make("h2"); #headers = make("dl", { class: "facts headers" }); #body = make("pre", { class: "code wrap", tabindex: "0" });
  #fold = make("details", { open: "" }, make("summary", {}, "Body")); #whole = "";

  constructor(node, name) {
    const request = make("section", { class: "card" }, make("h2", {}, "The request"));
    this.#body.setAttribute("aria-label", "The answer's body");
    this.#body.setAttribute("role", "group");
    this.#fold.append(make("div", { class: "bar" }, copyButton(() => this.#whole, "the answer")), this.#body);
    this.#answer.append(this.#status, this.#headers, this.#fold);
    node.append(request, this.#answer);
    this.#code = new Code(request, name);
  }

  showRequest(request) {
    this.#code.show(request);
  }

  clear() {
    this.#answer.hidden = true;
  }

  showAnswer({ status, headers, body, seconds }) {
    this.#status.textContent = `The answer: ${status} after ${number(seconds, 2)} s`;
    const found = SHOWN.filter((name) => headers.has(name));
    this.#headers.replaceChildren(...found.flatMap((name) => [make("dt", {}, name), make("dd", {}, headers.get(name))]));
    const text = /^(application\/json|text\/)/.test(headers.get("content-type") ?? "");
    this.#fold.hidden = !text;
    this.#whole = text ? readable(new TextDecoder().decode(body)) : "";
    this.#body.textContent = shortened(this.#whole);
    this.#answer.hidden = false;
  }
}

// JSON in lines; what is none, as it is.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function shortened(text) {
  return text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY)}\n... and ${number(text.length - LONGEST_BODY)} characters more` : text;
}
