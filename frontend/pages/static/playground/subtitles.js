// A transcript as a file: text, subtitles, or all that the answer says. Made in the page, unless the answer is the file.

import { make } from "/shared/dom.js";

const KINDS = {
  TXT: ["text/plain", ({ text }) => `${text}\n`],
  SRT: ["application/x-subrip", ({ made, segments }) => made ?? segments.map((segment, place) => `${place + 1}\n${cue(segment, ",")}`).join("\n")],
  VTT: ["text/vtt", ({ made, segments }) => made ?? `WEBVTT\n\n${segments.map((segment) => cue(segment, ".")).join("\n")}`],
  JSON: ["application/json", (heard) => JSON.stringify(heard, null, 2)],
};

// A button for each of `kinds`; `heard` is what the answer says, or has the file as `made`; `name` is that of the recording.
export function downloads(kinds, heard, name) {
  return kinds.map((kind) => {
    const [type, content] = KINDS[kind];
    const button = make("button", { type: "button", class: "small", "aria-label": `Download as ${kind}` }, kind);
    button.addEventListener("click", () => {
      const file = new File([content(heard)], `${name.replace(/\.[^.]*$/, "")}.${kind.toLowerCase()}`, { type });
      const address = URL.createObjectURL(file);
      make("a", { href: address, download: file.name }).click();
      URL.revokeObjectURL(address);
    });
    return button;
  });
}

const cue = ({ start, end, text }, point) => `${clock(start, point)} --> ${clock(end, point)}\n${text.trim()}\n`;

function clock(seconds, point) {
  const thousandths = Math.round(seconds * 1000);
  const parts = [3_600_000, 60_000, 1000].map((unit, place) => Math.floor(thousandths / unit) % (place ? 60 : Infinity));
  return `${parts.map((part) => String(part).padStart(2, "0")).join(":")}${point}${String(thousandths % 1000).padStart(3, "0")}`;
}
