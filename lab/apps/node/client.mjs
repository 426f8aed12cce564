// Continue's adapter, which its editor extensions and command line use, and LibreChat's reranker of web searches.

import { createRequire } from "node:module";
import { constructLlmApi } from "@continuedev/openai-adapters";

const { QUARTET_URL: address, QUARTET_API_KEY: apiKey } = process.env;
const QUERY = "How do I change my password?";
const DOCUMENTS = ["Bananas are yellow.", "Change your password under settings.", "It rains."];
const show = (operation, result) => console.log(`${operation}: ${JSON.stringify(result)}`);

const continued = constructLlmApi({ provider: "openai", apiBase: `${address}/v1/`, apiKey });
const vectors = await continued.embed({ model: "embed-m3", input: DOCUMENTS });
show("Continue, embeddings", { texts: vectors.data.length, dimensions: vectors.data[0].embedding.length });
const ranked = await continued.rerank({ model: "rerank-v2-m3", query: QUERY, documents: DOCUMENTS });
show("Continue, rerank", ranked.results);

// The package exports its tools for agents only.
const require = createRequire(import.meta.url);
const { createReranker } = require("./node_modules/@librechat/agents/dist/cjs/tools/search/rerankers.cjs");
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const jina = createReranker({ rerankerType: "jina", jinaApiKey: apiKey, jinaApiUrl: `${address}/v1/rerank`, logger });
show("LibreChat, rerank", await jina.rerank(QUERY, DOCUMENTS, 2));
const cohere = createReranker({ rerankerType: "cohere", cohereApiKey: apiKey, cohereApiUrl: `${address}/v2/rerank`, logger });
show("LibreChat, rerank as Cohere's", await cohere.rerank(QUERY, DOCUMENTS, 2));
show("LibreChat, rerank of 33 texts", await jina.rerank(QUERY, Array(33).fill("It rains."), 1));
