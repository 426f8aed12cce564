// Rank: documents in the order of their relevance to a query.

import { byId, make, number } from "/shared/dom.js";
import { priceOf } from "/shared/offer.js";
import { Panel, count, lines, read } from "./panel.js";

const QUERY = "How do I reset my password?";
const EXAMPLES = [
  "Hold the reset button of the router for ten seconds.",
  "Change a forgotten login secret under account settings.",
  "The meeting was moved from Monday to Friday.",
];

export function rank(here) {
  byId("query").value = QUERY;
  byId("documents").value = EXAMPLES.join("\n");
  const panel = new Panel(byId("rerank"), request, show);

  function request(fields) {
    const documents = lines(fields.get("documents"));
    count(byId("documents-count"), documents.length, here.most_documents, "documents");
    return { path: "/v1/rerank", json: { model: fields.get("model"), query: fields.get("query"), documents } };
  }

  async function show(answer, { json }) {
    const { results, usage } = read(answer);
    byId("bars").replaceChildren(...results.map((result) => bar(result, json.documents[result.index])));
    return [
      ["Tokens", number(usage.total_tokens)],
      ["Price", priceOf(here, json.model)],
      ["Time taken", `${number(answer.seconds, 2)} s`],
    ];
  }

  panel.update();
}

function bar({ index, relevance_score: score }, document) {
  const drawn = make("span", { class: "drawn", "aria-hidden": "true" });
  // Models that give scores without the sigmoid are drawn with it.
  drawn.style.setProperty("--score", score < 0 || score > 1 ? 1 / (1 + Math.exp(-score)) : score);
  const shown = make("span", { class: "score" }, number(score, 4));
  return make("li", { "data-index": index }, shown, make("span", { class: "document" }, document), drawn);
}
