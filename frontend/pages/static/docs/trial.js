// A request that is filled in with its example: it can be changed, copied as a command, and sent.

import { Answer } from "/shared/answer.js";
import { ask } from "/shared/ask.js";
import { copyButton, make } from "/shared/dom.js";
import { storedKey } from "/shared/key.js";
import { curl } from "/shared/recipes.js";
import { askForKey } from "/shared/sign_in.js";

const TOKEN = "QUARTET_MOBILE_JWT";
// Stands in the command until a file is chosen.
const NO_FILE = new File([], "recording.wav");

// `body` is the JSON's example or the form's schema, `isMobile` says that a mobile app's token opens the path.
export function trial({ name, path, parameters, json, form, isMobile }) {
  const made = make("form", { class: "trial" }, ...parameters.map(parameterField), ...(json ? [bodyField(json)] : []));
  if (form) made.append(make("div", { class: "parts" }, ...Object.entries(form.properties).map((part) => partField(part, form.required))));
  const command = make("pre", { class: "code wrap command", tabindex: "0", role: "group", "aria-label": `${name} with curl` });
  made.append(make("div", { class: "bar" }, make("span", {}, "With curl"), copyButton(() => command.textContent, `the command of ${name}`)), command);
  const tell = () => {
    const request = read();
    if (request) command.textContent = curl(request, location.origin, isMobile ? TOKEN : undefined);
  };
  const read = () => requestOf(made, { path, json, form });
  made.addEventListener("input", tell);
  tell();
  if (isMobile) made.append(make("p", { class: "note" }, "It takes a mobile app's token, and is not sent from this page."));
  else addSending(made, name, read);
  return made;
}

function parameterField({ name, example }) {
  return make("label", {}, name, make("input", { name, value: example ?? "", required: "", autocomplete: "off" }));
}

function bodyField(example) {
  const text = JSON.stringify(example, null, 2);
  const field = make("textarea", { name: "body", rows: text.split("\n").length, spellcheck: "false" });
  field.value = text;
  return make("label", {}, "Body", field);
}

function partField([name, { format, default: usual }], required) {
  const kind = format === "binary" ? { type: "file" } : { value: usual ?? "", autocomplete: "off" };
  return make("label", {}, name, make("input", { name, ...kind, ...(required.includes(name) && { required: "" }) }));
}

// What the form says, or null where its JSON is none.
function requestOf(made, { path, json, form }) {
  const values = new FormData(made);
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values.get(name))));
  if (form) {
    const parts = [...values].map(([name, value]) => [name, value instanceof File && !value.name ? NO_FILE : value]);
    return { path: filled, form: parts.filter(([, value]) => value) };
  }
  if (!json) return { path: filled };
  const { body } = made.elements;
  try {
    body.setCustomValidity("");
    return { path: filled, json: JSON.parse(body.value) };
  } catch (error) {
    body.setCustomValidity(`This is not JSON: ${error.message}`);
    return null;
  }
}

function addSending(made, name, read) {
  const status = make("p", { role: "status" });
  const answer = new Answer("h4");
  made.append(make("button", { type: "submit" }, "Send"), status, answer.node);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    const key = storedKey();
    if (!key) return askForKey("An API key is needed.");
    answer.clear();
    status.textContent = "Sent.";
    try {
      const found = await ask(read(), key);
      answer.show(found);
      status.replaceChildren(`Answered with ${found.status}. `, ...saveLink(name, found));
    } catch (error) {
      status.textContent = error.message;
    }
  });
}

// Sound is not shown.
function saveLink(name, { headers, body }) {
  const type = headers.get("content-type") ?? "";
  if (!type.startsWith("audio/")) return [];
  return [make("a", { href: URL.createObjectURL(new Blob([body], { type })), download: `${name}.${type.slice(6).replace("mpeg", "mp3")}` }, "Save the sound")];
}
