// Listen: a text, spoken by one of the voices.

import { byId, make, number } from "/shared/dom.js";
import { describe, firstVoice, priceOf } from "/shared/offer.js";
import { Panel, count } from "./panel.js";
import { Sound, measured } from "./sound.js";

const EXAMPLES = {
  en: "Good morning, Anna. Can you buy some bread today?",
  de: "Kannst du heute Brot kaufen?",
  fr: "Bonjour Anna, peux-tu acheter du pain aujourd'hui ?",
  it: "Buongiorno Anna, puoi comprare il pane oggi?",
};
// Of an extension; raw samples have no player.
const MORE_FORMATS = { opus: "Opus", aac: "AAC", flac: "FLAC" };

export function listen(here, handOver) {
  const form = byId("speech").querySelector("form");
  const first = firstVoice(here, navigator.language.slice(0, 2));
  const { streams, speeds } = extend(form, here.extensions ?? []);
  byId("voices").append(...here.voices.map((voice) => voiceChoice(voice, describe(voice, here.accents), voice === first)));
  byId("said").value = EXAMPLES[first.language] ?? EXAMPLES.en;
  const panel = new Panel(byId("speech"), request, show);
  let [shown, file, waited] = ["", null, 0];
  const sound = new Sound((seconds) => {
    byId("sounding").hidden = seconds === null;
    if (seconds === null) return;
    waited = seconds;
    byId("first-sound").textContent = `First sound after ${number(seconds, 2)} s`;
  });

  function request(fields) {
    count(byId("said-count"), [...fields.get("input")].length, here.longest_input, "characters");
    const body = Object.fromEntries(["model", "voice", "input", "response_format"].map((name) => [name, fields.get(name)]));
    if (speeds && fields.get("speed") !== "1") body.speed = Number(fields.get("speed"));
    const asked = { path: "/v1/audio/speech", json: body, saves: `speech.${body.response_format}` };
    if (!streams || body.response_format !== "wav") return asked;
    body.stream_format = "audio";
    return { ...asked, begin: (signal) => sound.begin(signal) };
  }

  async function show(answer, { json, saves, begin }) {
    URL.revokeObjectURL(shown);
    file = new File([begin ? measured(answer.body) : answer.body], saves, { type: answer.headers.get("content-type") });
    shown = URL.createObjectURL(file);
    byId("spoken").src = byId("download").href = shown;
    byId("download").download = saves;
    // A browser may refuse to begin by itself; the button is there.
    if (!begin) byId("spoken").play().catch(() => {});
    const characters = [...json.input].length;
    return [
      ["Characters", number(characters)],
      ["Price", priceOf(here, json.model)],
      ["Size", `${number(answer.body.byteLength / 1000, 1)} kB`],
      ...(begin ? [["First sound", `${number(waited, 2)} s`]] : []),
      ["Time taken", `${number(answer.seconds, 2)} s`],
    ];
  }

  byId("voices").addEventListener("input", () => {
    const [said, voice] = [byId("said"), new FormData(form).get("voice")];
    const example = EXAMPLES[here.voices.find(({ name }) => name === voice).language];
    if (Object.values(EXAMPLES).includes(said.value) && example) said.value = example;
  });
  byId("hand-over").addEventListener("click", () => handOver(file));
  byId("spoken").addEventListener("play", () => sound.stop());
  byId("sounding").querySelector("button").addEventListener("click", () => sound.stop());
  panel.update();
}

// Fields of the form that extensions add.
function extend(form, extensions) {
  const [streams, speeds] = ["speech_streaming", "speech_speed"].map((name) => extensions.includes(name));
  byId("at-once").hidden = !streams;
  byId("speed").hidden = !speeds;
  if (extensions.includes("speech_formats")) {
    form.elements.response_format.append(...Object.entries(MORE_FORMATS).map(([value, name]) => make("option", { value }, name)));
  }
  return { streams, speeds };
}

function voiceChoice({ name }, words, first) {
  const choice = make("input", { type: "radio", name: "voice", value: name });
  choice.defaultChecked = first;
  return make("label", { class: "choice" }, choice, make("span", {}, name, make("small", {}, words)));
}
