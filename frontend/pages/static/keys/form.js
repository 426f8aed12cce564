// A question in a window of its own: fields, and a button that sends them. A refusal of the server is shown beside its field.

import { byId, make } from "/shared/dom.js";
import { Failure } from "./session.js";

// A field has name, label, and any attributes of an input; `options` make it a choice, `hint` is a note below it, and
// `fields` make it a group of fields that can be folded.
function fieldOf(field) {
  const { name, label, hint, options, fields, value, ...attributes } = field;
  const problem = make("p", { class: "problem", role: "alert", id: `problem-${name}`, "data-of": name });
  const note = hint ? [make("p", { class: "note", id: `hint-${name}` }, hint)] : [];
  if (fields) return make("details", { class: "group" }, make("summary", {}, label), ...note, ...fields.map(fieldOf), problem);
  const described = { id: `field-${name}`, name, "aria-describedby": `${hint ? `hint-${name} ` : ""}problem-${name}` };
  const made = options ? make("select", described, ...options.map((option) => make("option", {}, option))) : make("input", { autocomplete: "off", ...described, ...attributes });
  if (value !== undefined) made.value = value;
  return make("div", { class: "field" }, make("label", { for: `field-${name}` }, label), made, ...note, problem);
}

// `send` is given the values as texts, by name, and gives what was done, in words, and an element to go on at (`focus`) where
// that is not the button which opened the form. Where it throws a Failure, the form stays. Gives the form's elements.
export function openForm({ title, about = [], fields = [], submit, danger = false, send }) {
  const general = make("p", { class: "problem", role: "alert" });
  const cancel = make("button", { type: "button" }, "Cancel");
  const go = make("button", { type: "submit", ...(danger && { class: "danger" }) }, submit);
  const form = make("form", {}, make("h2", { id: "dialog-title" }, title), ...about.map((text) => make("p", {}, text)), ...fields.map(fieldOf), general, make("div", { class: "actions" }, go, cancel));
  const opener = document.activeElement;
  const panel = opener.closest("[role=tabpanel]");
  const dialog = make("dialog", { "aria-labelledby": "dialog-title" }, form);
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    for (const problem of form.querySelectorAll(".problem")) problem.textContent = "";
    for (const input of form.elements) input.removeAttribute("aria-invalid");
    go.disabled = true;
    try {
      const { done, focus } = await send(Object.fromEntries(new FormData(form)));
      // Signing out has closed it meanwhile: nothing of the key is shown any more.
      if (!dialog.isConnected) return;
      dialog.close();
      byId("done").textContent = done;
      (focus ?? sameButton(opener, panel)).focus();
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      showFailure(form, general, failure);
    } finally {
      go.disabled = false;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  return form;
}

// The button of a row that was shown anew, or the list where the row has gone.
function sameButton(opener, panel) {
  const { does } = opener.dataset;
  return opener.isConnected ? opener : (buttonThat(does) ?? panel.querySelector(".scroll"));
}

// The button of a row that does this, as list.js makes them.
export const buttonThat = (does) => document.querySelector(`[data-does="${CSS.escape(does)}"]`);

function showFailure(form, general, { message, param }) {
  const problem = [...form.querySelectorAll("[data-of]")].find((each) => each.dataset.of === param) ?? general;
  problem.textContent = message;
  problem.closest("details")?.setAttribute("open", "");
  const input = form.elements.namedItem(param ?? "");
  input?.setAttribute("aria-invalid", "true");
  input?.focus();
}

export function closeForms() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}
