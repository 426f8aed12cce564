// Dictate: words that are shown while they are spoken.

import { byId, copyButton, make, number } from "/shared/dom.js";
import { storedKey } from "/shared/key.js";
import { askForKey, showAccount } from "/shared/sign_in.js";
import { live } from "./live.js";
import { level } from "./record.js";

export function dictate(panel) {
  const [button, record, status, text] = ["dictate", "record", "recording", "dictated"].map(byId);
  let [going, items, seconds] = [null, new Map(), 0];
  button.hidden = false;
  button.disabled = record.disabled;
  byId("dictation").querySelector(".actions").append(copyButton(() => text.innerText, "the text"));

  const show = {
    part(item, part) {
      if (!items.has(item)) items.set(item, text.appendChild(make("p")));
      items.get(item).append(part);
    },
    whole(item, whole, more) {
      seconds += more;
      // A screen reader would repeat a text that is set again.
      if (items.get(item).textContent !== whole) items.get(item).textContent = whole;
    },
    fault: (message) => panel.refuse(message),
  };

  async function stream(key, fields) {
    const options = Object.fromEntries(["model", "language", "prompt"].map((name) => [name, fields.get(name)]).filter(([, value]) => value));
    [items, seconds] = [new Map(), 0];
    text.replaceChildren();
    byId("dictation").hidden = true;
    panel.refuse("");
    const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
    const loudness = level(microphone, (value) => (byId("level").value = value));
    try {
      going = await live(microphone, key, options, show);
      byId("dictation").hidden = byId("level").hidden = button.disabled = false;
      [button.textContent, status.textContent] = ["Stop", "Listening: what you say is written below."];
      await going.ended;
      status.textContent = `${number(seconds, 1)} s of speech were transcribed.`;
    } finally {
      loudness();
      for (const track of microphone.getTracks()) track.stop();
    }
  }

  button.addEventListener("click", async () => {
    const key = storedKey();
    if (!key) return askForKey("An API key is needed.");
    button.disabled = true;
    if (going) {
      status.textContent = "The last words are on their way.";
      return going.stop();
    }
    record.disabled = true;
    try {
      await stream(key, new FormData(panel.form));
    } catch (error) {
      status.textContent = "";
      // A WebSocket does not say that a key is wrong.
      await showAccount();
      if (storedKey()) panel.refuse(`Dictation failed: ${error.message}`);
    }
    byId("level").hidden = true;
    record.disabled = button.disabled = false;
    [going, button.textContent] = [null, "Dictate"];
  });
}
