// OpenAI's official Node client against Quartet.
import OpenAI, { toFile } from "openai";

const options = { baseURL: `${process.env.QUARTET_URL}/v1`, apiKey: process.env.QUARTET_API_KEY };
const client = new OpenAI(options);

async function refusal(call) {
  try {
    await call();
  } catch (error) {
    return [error.constructor.name, error.status, error.type, error.param, Boolean(error.requestID)];
  }
}

const speech = await client.audio.speech.create({ model: "tts-1", voice: "ryan", input: "Good morning, Anna. Can you buy some bread today?" });
const audio = Buffer.from(await speech.arrayBuffer());
const file = () => toFile(audio, "hello.wav");
const hear = async (more) => client.audio.transcriptions.create({ model: "stt-1", file: await file(), ...more });
const verbose = await hear({ response_format: "verbose_json", timestamp_granularities: ["word", "segment"] });
const vectors = await client.embeddings.create({ model: "embed-m3", input: ["a cat", "a dog"] });
const floats = await client.embeddings.create({ model: "embed-m3", input: "a cat", encoding_format: "float" });
const models = await client.models.list();

console.log(
  JSON.stringify({
    speech: audio.subarray(0, 4).toString(),
    json: (await hear({})).text,
    text: await hear({ response_format: "text" }),
    verbose: [verbose.language, verbose.segments.length > 0, verbose.words.map(({ word }) => word.trim())],
    dimensions: vectors.data.map(({ embedding }) => embedding.length),
    same: Math.abs(vectors.data[0].embedding[0] - floats.data[0].embedding[0]) < 1e-6,
    models: models.data.length,
    unknownModel: await refusal(() => client.embeddings.create({ model: "other", input: "a" })),
    wrongKey: await refusal(() => new OpenAI({ ...options, apiKey: "wrong" }).models.list()),
    foreignFile: await refusal(async () =>
      client.audio.transcriptions.create({ model: "stt-1", file: await toFile(Buffer.from("%PDF-1.4\n"), "a.wav") }),
    ),
  }),
);
