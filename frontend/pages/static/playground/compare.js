// Compare: how alike texts are, by the cosine of their vectors.

import { byId, make, number } from "/shared/dom.js";
import { priceOf } from "/shared/offer.js";
import { Panel, count, lines, read } from "./panel.js";

const EXAMPLES = ["How do I reset my password?", "I forgot my login and cannot sign in.", "A cat sleeps on the mat.", "A kitten is lying on the rug."];

export function compare(here) {
  byId("texts").value = EXAMPLES.join("\n");
  const panel = new Panel(byId("embeddings"), request, show);

  function request(fields) {
    const texts = lines(fields.get("input"));
    count(byId("texts-count"), texts.length, here.most_inputs, "texts");
    return { path: "/v1/embeddings", json: { model: fields.get("model"), input: texts } };
  }

  async function show(answer, { json }) {
    const { data, usage } = read(answer);
    const cosines = matrix(data.map(({ embedding }) => embedding));
    byId("matrix").replaceChildren(head(json.input), body(json.input, cosines));
    byId("closest").textContent = closest(cosines);
    return [
      ["Dimensions", number(data[0].embedding.length)],
      ["Tokens", number(usage.total_tokens)],
      ["Price", priceOf(here, json.model)],
      ["Time taken", `${number(answer.seconds, 2)} s`],
    ];
  }

  panel.update();
}

const dot = (first, second) => first.reduce((sum, value, place) => sum + value * second[place], 0);

// Of vectors of length 1, which embeddings are.
function matrix(vectors) {
  return vectors.map((first) => vectors.map((second) => dot(first, second)));
}

function closest(cosines) {
  let best = [0, 1, -2];
  cosines.forEach((row, first) => row.forEach((value, second) => first < second && value > best[2] && (best = [first, second, value])));
  return cosines.length < 2 ? "" : `Most alike are ${best[0] + 1} and ${best[1] + 1}, with ${number(best[2], 2)}.`;
}

function head(texts) {
  const columns = texts.map((text, place) => make("th", { scope: "col", title: text }, `${place + 1}`));
  return make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Text"), ...columns));
}

function body(texts, cosines) {
  const rows = cosines.map((row, place) => {
    const name = make("th", { scope: "row", title: texts[place] }, make("span", {}, `${place + 1}. ${texts[place]}`));
    return make("tr", {}, name, ...row.map(heat));
  });
  return make("tbody", {}, ...rows);
}

function heat(value) {
  const cell = make("td", { title: number(value, 6) }, number(value, 2));
  cell.style.setProperty("--heat", Math.min(1, Math.max(0, value)));
  return cell;
}
