// A key that has just been made: the one time that it can be seen.

import { byId, copyButton, make } from "/shared/dom.js";
import { keepKey } from "/shared/key.js";

// Gives the element that has it.
export function showSecret(key, about) {
  const done = make("button", { type: "button" }, "Done");
  done.addEventListener("click", () => {
    hideSecret();
    byId("tabs").querySelector("[aria-selected=true]").focus();
  });
  const shown = make("code", { class: "wrap", id: "secret-key" }, key);
  const title = make("h2", { id: "secret-title" }, "Copy this key: it is not shown again");
  byId("secret").replaceChildren(title, make("p", {}, about), make("p", { class: "made" }, shown, copyButton(() => key, "the key")), make("p", { class: "made" }, done, ...useButton(key)));
  byId("secret").hidden = false;
  return byId("secret");
}

// The other pages are not on the admin port.
function useButton(key) {
  if (!document.querySelector('.site [href="/playground"]')) return [];
  const use = make("button", { type: "button" }, "Use it in this tab");
  use.addEventListener("click", () => {
    keepKey(key);
    use.textContent = "Used by the other pages";
  });
  return [use];
}

export function hideSecret() {
  byId("secret").replaceChildren();
  byId("secret").hidden = true;
}
