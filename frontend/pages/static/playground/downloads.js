// A transcript as a file: its text, the subtitles of the server, or the whole answer.

import { make } from "/shared/dom.js";

const KINDS = {
  TXT: ["text/plain", ({ text }) => `${text}\n`],
  SRT: ["application/x-subrip", ({ text }) => text],
  VTT: ["text/vtt", ({ text }) => text],
  JSON: ["application/json", (answer) => JSON.stringify(answer, null, 2)],
};

// A button for each of `kinds`; `name` is that of the recording.
export function downloads(kinds, answer, name) {
  return kinds.map((kind) => {
    const [type, content] = KINDS[kind];
    const button = make("button", { type: "button", class: "small", "aria-label": `Download as ${kind}` }, kind);
    button.addEventListener("click", () => {
      const file = new File([content(answer)], `${name.replace(/\.[^.]*$/, "")}.${kind.toLowerCase()}`, { type });
      const address = URL.createObjectURL(file);
      make("a", { href: address, download: file.name }).click();
      URL.revokeObjectURL(address);
    });
    return button;
  });
}
