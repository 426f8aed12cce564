// The models, voices and prices of /offer.json in words.

import { number } from "./dom.js";

export const OPERATIONS = {
  transcriptions: "Speech to text",
  speech: "Text to speech",
  embeddings: "Embeddings",
  rerank: "Rerank",
};
const UNITS = { minute: "a minute", million_characters: "a million characters", million_tokens: "a million tokens" };

// Throws if it cannot be read.
export async function offer() {
  const answer = await fetch("/offer.json");
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

export const language = (code) => new Intl.DisplayNames("en", { type: "language" }).of(code);

export const priceText = ({ chf, unit }) => (Number(chf) ? `${chf} CHF ${UNITS[unit]}` : "free");

// The price of a model in words.
export const priceOf = ({ models }, model) => priceText(models.find(({ id }) => id === model).price);

// A voice in words, such as "German, male, with the accent of Spanish".
export function describe({ name, language: code, gender }, accents) {
  const accent = accents[name] ? `, with the accent of ${language(accents[name])}` : "";
  return `${language(code)}, ${gender}${accent}`;
}

// A voice of the language where there is one.
export const firstVoice = ({ voices }, code) =>
  voices.find((voice) => voice.language === code) ?? voices.find((voice) => voice.language === "en") ?? voices[0];

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
