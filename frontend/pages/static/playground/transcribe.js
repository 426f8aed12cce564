// Transcribe: a recording, from the microphone or from a file, as text whose words can be heard.

import { byId, copyButton, make, number } from "/shared/dom.js";
import { cost, language } from "/shared/offer.js";
import { Panel, read } from "./panel.js";
import { Player } from "./player.js";
import { canRecord, record } from "./record.js";
import { downloads } from "./subtitles.js";
import { Transcript } from "./transcript.js";

// What stands in the request until there is a file.
const NONE = new File([], "recording.wav");

export function transcribe(here) {
  const node = byId("transcriptions");
  const player = new Player((seconds) => transcript.light(seconds));
  const transcript = new Transcript(byId("transcript"), (seconds) => player.play(seconds));
  let [file, text] = [NONE, ""];
  const names = here.languages.map((code) => [code, language(code)]).sort(([, first], [, second]) => first.localeCompare(second));
  node.querySelector('[name="language"]').append(...names.map(([code, name]) => make("option", { value: code }, name)));
  let last = null;
  byId("transcript-actions").append(copyButton(() => text, "the text"), ...downloads(() => last, () => file.name));
  const lacking = () => {
    if (file === NONE) return "Record something, or choose a file first.";
    const most = here.largest_file;
    return file.size > most ? `The file has ${number(file.size / 2 ** 20, 1)} MiB, and ${number(most / 2 ** 20)} MiB are taken.` : "";
  };
  const panel = new Panel(node, request, show, lacking);

  function request(fields) {
    const form = [["file", file], ["model", fields.get("model")]];
    for (const name of ["language", "prompt"]) if (fields.get(name)) form.push([name, fields.get(name)]);
    form.push(["response_format", "verbose_json"], ["timestamp_granularities[]", "segment"], ["timestamp_granularities[]", "word"]);
    return { path: "/v1/audio/transcriptions", form };
  }

  async function show(answer, { form }) {
    const heard = read(answer);
    [last, text] = [heard, heard.text];
    transcript.show(heard);
    byId("how").hidden = !heard.words?.length;
    if (!text) byId("transcript").textContent = "No speech was found in it.";
    const factor = answer.seconds / heard.duration;
    return [
      ["Language", heard.language ? language(heard.language) : "none"],
      ["Length", `${number(heard.duration, 1)} s`],
      ["Time taken", `${number(answer.seconds, 2)} s`],
      ["Real-time factor", `${number(factor, 2)}, ${number(1 / factor, 1)} times as fast as it was spoken`],
      ["Price", text ? cost(here, form[1][1], Math.round(heard.duration * 1000)) : "free"],
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
    transcript.show({ segments: [] });
    player.open(file);
    panel.tell();
    panel.refuse(others ? `One recording at a time: ${file.name} was taken, and ${others} more ${others > 1 ? "were" : "was"} not.` : "");
  }

  function hear(opened) {
    open(opened);
    panel.send();
  }

  byId("file").addEventListener("change", () => open(byId("file").files[0]));
  takeDrops(byId("drop"), open);
  takeRecordings(byId("record"), byId("recording"), here.largest_file, hear);
  panel.tell();
  return { hear };
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

function takeRecordings(button, told, largest, hear) {
  const level = byId("level");
  let going = null;
  if (!canRecord()) {
    button.disabled = true;
    told.textContent = "Browsers give a microphone to pages over https and on localhost alone.";
  }
  button.addEventListener("click", async () => {
    if (going) return going.stop();
    button.disabled = true;
    try {
      const tell = (seconds) => (button.textContent = `Stop (${number(seconds)} s)`);
      going = await record(largest, tell, (loudness) => (level.value = loudness));
      level.hidden = false;
      [button.textContent, told.textContent] = ["Stop", "Recording."];
      button.disabled = false;
      hear(await going.file);
      told.textContent = "Recorded.";
    } catch (error) {
      told.textContent = `There is no recording: ${error.message}`;
    }
    level.hidden = true;
    [going, button.textContent, button.disabled] = [null, "Record", false];
  });
}
