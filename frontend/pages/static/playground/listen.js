// Listen: a text, said by one of the voices.

import { byId, make, number } from "/shared/dom.js";
import { cost, firstVoice, language } from "/shared/offer.js";
import { Panel, count } from "./panel.js";

const EXAMPLES = {
  en: "Good morning, Anna. Can you buy some bread today?",
  de: "Kannst du heute Brot kaufen?",
  fr: "Bonjour Anna, peux-tu acheter du pain aujourd'hui ?",
  it: "Buongiorno Anna, puoi comprare il pane oggi?",
};

export function listen(here, handOver) {
  const form = byId("speech").querySelector("form");
  const first = firstVoice(here, navigator.language.slice(0, 2));
  byId("voices").append(...here.voices.map((voice) => voiceChoice(voice, voice === first)));
  byId("said").value = EXAMPLES[first.language] ?? EXAMPLES.en;
  const panel = new Panel(byId("speech"), request, show);
  let [shown, file] = ["", null];

  function request(fields) {
    count(byId("said-count"), [...fields.get("input")].length, here.longest_input, "characters");
    const body = Object.fromEntries(["model", "voice", "input", "response_format"].map((name) => [name, fields.get(name)]));
    return { path: "/v1/audio/speech", json: body, saves: `speech.${body.response_format}` };
  }

  async function show(answer, { json, saves }) {
    URL.revokeObjectURL(shown);
    file = new File([answer.body], saves, { type: answer.headers.get("content-type") });
    shown = URL.createObjectURL(file);
    byId("heard").src = byId("download").href = shown;
    byId("download").download = saves;
    // A browser may refuse to begin by itself; the button is there.
    byId("heard").play().catch(() => {});
    const characters = [...json.input].length;
    return [
      ["Characters", number(characters)],
      ["Price", cost(here, json.model, characters)],
      ["Size", `${number(answer.body.byteLength / 1000, 1)} kB`],
      ["Time taken", `${number(answer.seconds, 2)} s`],
    ];
  }

  byId("voices").addEventListener("input", () => {
    const [said, voice] = [byId("said"), new FormData(form).get("voice")];
    const example = EXAMPLES[here.voices.find(({ name }) => name === voice).language];
    if (Object.values(EXAMPLES).includes(said.value) && example) said.value = example;
  });
  byId("hand-over").addEventListener("click", () => handOver(file));
  panel.tell();
}

function voiceChoice({ name, language: code, gender }, first) {
  const choice = make("input", { type: "radio", name: "voice", value: name });
  choice.defaultChecked = first;
  return make("label", { class: "choice" }, choice, make("span", {}, name, make("small", {}, `${language(code)}, ${gender}`)));
}
