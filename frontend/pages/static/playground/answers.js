// The forms of a transcript: the first is that of the contract, the others belong to extensions.

import { make } from "/shared/dom.js";
import { read } from "./panel.js";

const file = (answer) => {
  const text = new TextDecoder().decode(answer.body);
  return { text, isFile: true, segments: [] };
};
const subtitles = (format, kind) => ({
  title: `subtitles (${kind})`,
  needs: "subtitles",
  fields: [["response_format", format]],
  read: file,
  saves: [kind],
});

// By name: the fields of the form that ask for it, what reads the answer, and the files that it can be saved as.
// An answer of another path is from its own model, and takes no language.
export const ANSWERS = {
  words: {
    title: "words with their times",
    fields: [["response_format", "verbose_json"], ["timestamp_granularities[]", "segment"], ["timestamp_granularities[]", "word"]],
    read,
    saves: ["TXT", "JSON"],
  },
  stream: {
    title: "text, as it comes",
    needs: "transcript_streaming",
    fields: [["response_format", "json"], ["stream", "true"]],
    saves: ["TXT"],
  },
  srt: subtitles("srt", "SRT"),
  vtt: subtitles("vtt", "VTT"),
  english: {
    title: "in English, by stt-1-hd",
    needs: "translations",
    path: "/v1/audio/translations",
    model: "stt-1-hd",
    fields: [["response_format", "verbose_json"]],
    read,
    saves: ["TXT", "JSON"],
  },
};

// The choice among them, which is shown where there is one.
export function offerAnswers(label, extensions) {
  const found = Object.entries(ANSWERS).filter(([, { needs }]) => !needs || extensions.includes(needs));
  label.querySelector("select").append(...found.map(([name, { title }]) => make("option", { value: name }, title)));
  label.hidden = found.length < 2;
}

// A function that takes the bytes of server-sent events, piece by piece, and calls `take` with each event.
export function eventReader(take) {
  const decoder = new TextDecoder();
  let text = "";
  return (piece) => {
    text += decoder.decode(piece, { stream: true });
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) take(JSON.parse(event.replace(/^data: /, "")));
  };
}
