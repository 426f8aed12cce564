// What a microphone hears, transcribed while it is spoken: a WebSocket with the events of OpenAI's realtime API.

const PATH = "/v1/realtime?intent=transcription";
const RATE = 24_000;
const TRANSCRIBED = "conversation.item.input_audio_transcription";
const NO_AUDIO = "input_audio_buffer_commit_empty";
// Most unsent bytes, 15 s of audio: a network with more is too slow.
const MOST_WAITING = 1_000_000;
// Longest time for the last words.
const LAST_MS = 30_000;

// `options` has model, language and prompt. `show` has `part(item, text)`, `whole(item, text, seconds)` and `fault(message)`.
// Returns `stop`, after which the last words come, and `ended`, a promise.
export async function live(stream, key, options, show) {
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + PATH, ["realtime", `openai-insecure-api-key.${key}`]);
  const closed = happens(socket, "close");
  await Promise.race([happens(socket, "open"), closed]);
  if (socket.readyState !== WebSocket.OPEN) throw new Error("the server does not listen. Other sessions of this key may still be open.");
  const send = (type, fields) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ type, ...fields }));
  // After a stop, the session ends when the server has answered the last item.
  let [stopped, answered, failed] = [false, false, false];
  const waiting = new Set();
  const fault = (message) => {
    failed = true;
    show.fault(message);
  };
  const handlers = {
    [`${TRANSCRIBED}.delta`]: ({ item_id: item, delta }) => show.part(item, delta),
    [`${TRANSCRIBED}.completed`]({ item_id: item, transcript, usage }) {
      waiting.delete(item);
      show.whole(item, transcript, usage.seconds);
    },
    [`${TRANSCRIBED}.failed`]({ item_id: item, error }) {
      waiting.delete(item);
      fault(error.message);
    },
    "input_audio_buffer.committed"({ item_id: item }) {
      waiting.add(item);
      // Items stand in the order of their audio, not of their first words.
      show.part(item, "");
      answered = stopped;
    },
    error({ error }) {
      if (stopped && error.code === NO_AUDIO) answered = true;
      else fault(error.message);
    },
  };
  socket.addEventListener("message", ({ data }) => {
    const event = JSON.parse(data);
    handlers[event.type]?.(event);
    if (answered && !waiting.size) socket.close();
  });
  const input = { format: { type: "audio/pcm", rate: RATE }, transcription: options, turn_detection: { type: "server_vad" } };
  send("session.update", { session: { type: "transcription", audio: { input } } });
  const endCapture = await capture(stream, (samples) => {
    send("input_audio_buffer.append", { audio: btoa(String.fromCharCode(...new Uint8Array(samples.buffer))) });
    if (socket.bufferedAmount > MOST_WAITING) socket.close();
  }).catch((error) => {
    socket.close();
    throw error;
  });

  function stop() {
    stopped = true;
    endCapture();
    send("input_audio_buffer.commit");
    setTimeout(() => socket.close(), LAST_MS);
  }
  const ended = closed.then(() => {
    if (!stopped) endCapture();
    if (!answered && !failed) show.fault("The connection ended before the last words came.");
  });
  return { stop, ended };
}

const happens = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));

// Passes the samples of a microphone to `take`, until the returned function is called.
async function capture(stream, take) {
  const context = new AudioContext();
  await context.audioWorklet.addModule("/playground/samples.js");
  const node = new AudioWorkletNode(context, "samples", { channelCount: 1, channelCountMode: "explicit" });
  node.port.onmessage = ({ data }) => take(data);
  // The node makes no sound, but browsers run only nodes that lead to the destination.
  context.createMediaStreamSource(stream).connect(node).connect(context.destination);
  return () => context.close();
}
