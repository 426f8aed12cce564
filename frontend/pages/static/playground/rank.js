// Rank: documents in the order of their relevance to a query.

import { byId, make, number } from "/shared/dom.js";
import { cost } from "/shared/offer.js";
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
      ["Price", cost(here, json.model, usage.total_tokens)],
      ["Time taken", `${number(answer.seconds, 2)} s`],
    ];
  }

  panel.tell();
}

function bar({ index, relevance_score: score }, document) {
  const drawn = make("span", { class: "drawn", "aria-hidden": "true" });
  drawn.style.setProperty("--score", score);
  const told = make("span", { class: "score" }, number(score, 4));
  return make("li", { "data-index": index }, make("span", { class: "document" }, document), told, drawn);
}
