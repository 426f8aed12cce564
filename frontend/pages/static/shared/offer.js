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

// What to expect of the models that a checkout begins with; they are known by their voices.
export const bounds = ({ robots }) =>
  robots.length
    ? "These are the demo's models: Whisper base understands people in 99 languages, ryan speaks like one and the other voices like robots, " +
      "embeddings and rerank are at home in English. MODELS=hub has Whisper large-v3-turbo and natural voices."
    : "";

// A voice that sounds natural, of the language where there is one.
export function firstVoice({ voices, robots }, code) {
  const natural = voices.filter(({ name }) => !robots.includes(name));
  const among = natural.length ? natural : voices;
  return among.find((voice) => voice.language === code) ?? among.find((voice) => voice.language === "en") ?? among[0];
}

// The request that a page begins with.
export function firstRequest(here) {
  const { models } = here;
  const model = models.find(({ operation }) => ["speech", "embeddings", "rerank"].includes(operation));
  const input = "Good morning, Anna. Can you buy some bread today?";
  return {
    speech: () => ({
      path: "/v1/audio/speech",
      json: { model: model.id, voice: firstVoice(here, "en").name, input },
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
