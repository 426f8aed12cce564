// Transcribe: a recording, from the microphone or from a file, as text. A click on a word plays it.

import { byId, copyButton, make, number } from "/shared/dom.js";
import { language, priceOf } from "/shared/offer.js";
import { ANSWERS, eventReader, offerAnswers } from "./answers.js";
import { dictate } from "./dictate.js";
import { Panel } from "./panel.js";
import { Player } from "./player.js";
import { canRecord, record } from "./record.js";
import { downloads } from "./downloads.js";
import { Transcript } from "./transcript.js";

// What stands in the request until there is a file.
const NONE = new File([], "recording.wav");
const NOTHING = { text: "", segments: [] };

export function transcribe(here) {
  const node = byId("transcriptions");
  const player = new Player((seconds) => transcript.light(seconds));
  const transcript = new Transcript(byId("transcript"), (seconds) => player.play(seconds));
  let [file, streamed] = [NONE, null];
  const names = here.languages.map((code) => [code, language(code)]).sort(([, first], [, second]) => first.localeCompare(second));
  node.querySelector('[name="language"]').append(...names.map(([code, name]) => make("option", { value: code }, name)));
  const extensions = here.extensions ?? [];
  offerAnswers(byId("answers"), extensions);
  const lacking = () => {
    if (file === NONE) return "Record something, or choose a file first.";
    const most = here.largest_file;
    return file.size > most ? `The file has ${number(file.size / 2 ** 20, 1)} MiB, and ${number(most / 2 ** 20)} MiB are taken.` : "";
  };
  const panel = new Panel(node, request, show, lacking);

  function request(fields) {
    const kind = fields.get("answer");
    const { path = "/v1/audio/transcriptions", model, fields: asked } = ANSWERS[kind];
    for (const name of ["model", "language"]) node.querySelector(`[name="${name}"]`).closest("label").hidden = Boolean(model);
    const form = [["file", file], ["model", model ?? fields.get("model")]];
    for (const name of model ? ["prompt"] : ["language", "prompt"]) if (fields.get(name)) form.push([name, fields.get(name)]);
    form.push(...asked);
    return { path, form, kind, ...(kind === "stream" && { begin }) };
  }

  // Shows a text that comes part by part.
  function begin() {
    const [begun, shown] = [performance.now(), make("p", { "aria-live": "polite" })];
    streamed = { text: "", segments: [], waited: 0 };
    const take = eventReader(({ delta }) => {
      if (!delta) return;
      if (!streamed.text) {
        streamed.waited = (performance.now() - begun) / 1000;
        present(NOTHING, "stream");
        byId("transcript").replaceChildren(shown);
        panel.reveal();
      }
      streamed.text += delta;
      shown.append(delta);
    });
    return { take, end: () => {} };
  }

  // Without segments, it is a text.
  function present(found, kind) {
    const { text, segments, words, isFile } = found;
    transcript.show(found);
    byId("how").hidden = !words?.length;
    if (!segments.length) byId("transcript").replaceChildren(text ? make(isFile ? "pre" : "p", { class: "wrap" }, text) : "No speech was found in it.");
    byId("transcript-actions").replaceChildren(copyButton(() => text, "the text"), ...downloads(ANSWERS[kind].saves, found, file.name));
  }

  async function show(answer, { form, kind }) {
    const found = kind === "stream" ? streamed : ANSWERS[kind].read(answer);
    present(found, kind);
    const taken = ["Time taken", `${number(answer.seconds, 2)} s`];
    if (kind === "stream") return [["First words", `${number(found.waited, 2)} s`], taken];
    if (found.isFile) return [taken];
    const factor = answer.seconds / found.duration;
    return [
      ["Language", found.language ? language(found.language) : "none"],
      ["Length", `${number(found.duration, 1)} s`],
      taken,
      ["Real-time factor", `${number(factor, 2)}, ${number(1 / factor, 1)} times as fast as it was spoken`],
      ["Price", found.text ? priceOf(here, form[1][1]) : "free"],
    ];
  }

  function open(opened, others = 0) {
    if (!opened) return;
    if (panel.busy) {
      panel.refuse(`${opened.name} was not taken: wait for the answer, or cancel.`);
      return showChosen(file);
    }
    file = opened;
    showChosen(file);
    node.querySelector(".result").hidden = true;
    transcript.show(NOTHING);
    player.open(file);
    panel.update();
    panel.refuse(others ? `One recording at a time: ${file.name} was taken, and ${others} more ${others > 1 ? "were" : "was"} not.` : "");
  }

  function openAndSend(opened) {
    open(opened);
    panel.send();
  }

  byId("file").addEventListener("change", () => open(byId("file").files[0]));
  takeDrops(byId("drop"), open);
  takeRecordings(byId("record"), byId("recording"), here.largest_file, openAndSend);
  if (extensions.includes("realtime")) dictate(panel);
  panel.update();
  return { openAndSend };
}

// The field names the file that is sent, wherever it came from.
function showChosen(file) {
  const chosen = new DataTransfer();
  if (file !== NONE) chosen.items.add(file);
  byId("file").files = chosen.files;
}

function takeDrops(node, open) {
  for (const name of ["dragover", "dragleave", "drop"]) {
    node.addEventListener(name, (event) => {
      event.preventDefault();
      node.classList.toggle("over", name === "dragover");
      const { files } = event.dataTransfer;
      if (name === "drop") open(files[0], files.length - 1);
    });
  }
}

function takeRecordings(button, status, largest, take) {
  const [level, dictate] = [byId("level"), byId("dictate")];
  let going = null;
  if (!canRecord()) {
    button.disabled = true;
    status.textContent = "Browsers give a microphone only to pages over https and on localhost.";
  }
  button.addEventListener("click", async () => {
    if (going) return going.stop();
    button.disabled = dictate.disabled = true;
    try {
      const showSeconds = (seconds) => (button.textContent = `Stop (${number(seconds)} s)`);
      going = await record(largest, showSeconds, (loudness) => (level.value = loudness));
      level.hidden = false;
      [button.textContent, status.textContent] = ["Stop", "Recording."];
      button.disabled = false;
      take(await going.file);
      status.textContent = "Recorded.";
    } catch (error) {
      status.textContent = `The recording failed: ${error.message}`;
    }
    level.hidden = true;
    [going, button.textContent] = [null, "Record"];
    button.disabled = dictate.disabled = false;
  });
}
