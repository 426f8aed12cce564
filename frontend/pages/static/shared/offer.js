// What there is here, in words: models, voices and prices as /offer.json tells them.

import { number } from "./dom.js";

export const OPERATIONS = {
  transcriptions: "Speech to text",
  speech: "Text to speech",
  embeddings: "Embeddings",
  rerank: "Rerank",
};
const UNITS = { minute: "a minute", million_characters: "a million characters", million_tokens: "a million tokens" };

export async function offer() {
  return (await fetch("/offer.json")).json();
}

export const language = (code) => new Intl.DisplayNames("en", { type: "language" }).of(code);

export const priceOf = ({ chf, unit }) => (Number(chf) ? `${chf} CHF ${UNITS[unit]}` : "free");

// What a model's so many milliseconds, characters or tokens cost: whole micro-CHF, rounded half up, as the ledger has it.
export function cost({ models }, model, quantity) {
  const { chf, size } = models.find(({ id }) => id === model).price;
  const micro = Math.floor((quantity * Math.round(Number(chf) * 1e6) + Math.floor(size / 2)) / size);
  return micro ? `${(micro / 1e6).toFixed(6).replace(/0{1,4}$/, "")} CHF` : "free";
}

// The request that a page begins with.
export function firstRequest({ models, voices }) {
  const model = models.find(({ operation }) => ["speech", "embeddings", "rerank"].includes(operation));
  const input = "Good morning Anna, can you buy some bread today?";
  return {
    speech: () => ({
      path: "/v1/audio/speech",
      json: { model: model.id, voice: (voices.find((voice) => voice.language === "en") ?? voices[0]).name, input },
      saves: "hello.wav",
    }),
    embeddings: () => ({ path: "/v1/embeddings", json: { model: model.id, input: [input] } }),
    rerank: () => ({ path: "/v1/rerank", json: { model: model.id, query: "What is for breakfast?", documents: [input] } }),
    undefined: () => ({
      path: "/v1/audio/transcriptions",
      form: [["file", new File([], "hello.wav")], ["model", models[0].id]],
    }),
  }[model?.operation]();
}
