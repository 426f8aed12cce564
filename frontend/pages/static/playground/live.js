// What a microphone hears, transcribed while it is spoken: a WebSocket with the events of OpenAI's realtime API.

const PATH = "/v1/realtime?intent=transcription";
const RATE = 24_000;
const TRANSCRIBED = "conversation.item.input_audio_transcription";
const NO_AUDIO = "input_audio_buffer_commit_empty";
// Bytes that wait to be sent when a network is given up: 15 s of audio.
const MOST_WAITING = 1_000_000;
// How long the last words may take.
const LAST_MS = 30_000;

// `options` has model, language and prompt. `told` has `part(item, text)`, `whole(item, text, seconds)` and `fault(message)`.
// Gives `stop`, after which the last words come, and `ended`, a promise.
export async function live(stream, key, options, told) {
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + PATH, ["realtime", `openai-insecure-api-key.${key}`]);
  const closed = happens(socket, "close");
  await Promise.race([happens(socket, "open"), closed]);
  if (socket.readyState !== WebSocket.OPEN) throw new Error("the server does not listen. Other sessions of this key may still be open.");
  const send = (type, fields) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ type, ...fields }));
  // Once it is stopped and the server has said what is left, the session ends with the last of it.
  let [stopped, answered, failed] = [false, false, false];
  const waiting = new Set();
  const fault = (message) => {
    failed = true;
    told.fault(message);
  };
  const heard = {
    [`${TRANSCRIBED}.delta`]: ({ item_id: item, delta }) => told.part(item, delta),
    [`${TRANSCRIBED}.completed`]({ item_id: item, transcript, usage }) {
      waiting.delete(item);
      told.whole(item, transcript, usage.seconds);
    },
    [`${TRANSCRIBED}.failed`]({ item_id: item, error }) {
      waiting.delete(item);
      fault(error.message);
    },
    "input_audio_buffer.committed"({ item_id: item }) {
      waiting.add(item);
      // It has its place, even before it has words.
      told.part(item, "");
      answered = stopped;
    },
    error({ error }) {
      if (stopped && error.code === NO_AUDIO) answered = true;
      else fault(error.message);
    },
  };
  socket.addEventListener("message", ({ data }) => {
    const event = JSON.parse(data);
    heard[event.type]?.(event);
    if (answered && !waiting.size) socket.close();
  });
  const input = { format: { type: "audio/pcm", rate: RATE }, transcription: options, turn_detection: { type: "server_vad" } };
  send("session.update", { session: { type: "transcription", audio: { input } } });
  const deafen = await capture(stream, (samples) => {
    send("input_audio_buffer.append", { audio: btoa(String.fromCharCode(...new Uint8Array(samples.buffer))) });
    if (socket.bufferedAmount > MOST_WAITING) socket.close();
  }).catch((error) => {
    socket.close();
    throw error;
  });

  function stop() {
    stopped = true;
    deafen();
    send("input_audio_buffer.commit");
    setTimeout(() => socket.close(), LAST_MS);
  }
  const ended = closed.then(() => {
    if (!stopped) deafen();
    if (!answered && !failed) told.fault("The connection ended before the last words came.");
  });
  return { stop, ended };
}

const happens = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));

// Tells `heard` the samples of a microphone, until the function that it gives is called.
async function capture(stream, heard) {
  const context = new AudioContext();
  await context.audioWorklet.addModule("/playground/samples.js");
  const node = new AudioWorkletNode(context, "samples", { channelCount: 1, channelCountMode: "explicit" });
  node.port.onmessage = ({ data }) => heard(data);
  // It makes no sound; what leads to none is not worked at.
  context.createMediaStreamSource(stream).connect(node).connect(context.destination);
  return () => context.close();
}
