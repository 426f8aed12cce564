// Both pages: the list of contents, which is folded on a phone. The guide: its commands with the address that it was read
// at, and a button that copies each.

import { byId, copyButton, make } from "/shared/dom.js";

const ADDRESS = /\$QUARTET_URL/g;

byId("contents").open = matchMedia("(min-width: 48rem)").matches;
for (const code of document.querySelectorAll("article code")) {
  code.textContent = code.textContent.replace(ADDRESS, location.origin);
}
// Answers are for reading.
for (const pre of document.querySelectorAll("article pre:has(> .language-bash, > .language-python, > .language-js)")) {
  const box = make("div", { class: "copied" });
  pre.replaceWith(box);
  box.append(pre, copyButton(() => pre.textContent, "it"));
}
