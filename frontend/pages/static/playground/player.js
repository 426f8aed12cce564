// A recording that is played, with a picture of how loud it is, in which one can click.

import { byId } from "/shared/dom.js";

// A longer one takes too much memory when it is decoded.
const LONGEST_PICTURE_SECONDS = 600;
const PICTURE_RATE = 8000;
// Past the end of any: a browser that does not know a recording's length finds it when it goes there.
const FAR_SECONDS = 1e7;

export class Player {
  #audio = byId("played"); #wave = byId("wave"); #address = ""; #peaks = []; #moved; #frame = 0; #file;

  // `moved` is called with the time in seconds while it plays, and after each jump.
  constructor(moved) {
    this.#moved = moved;
    for (const name of ["play", "pause", "seeked", "ended"]) this.#audio.addEventListener(name, () => this.#tick());
    this.#audio.addEventListener("error", () => (byId("unplayable").hidden = false));
    this.#wave.addEventListener("click", (event) => this.seek((event.offsetX / this.#wave.clientWidth) * this.#audio.duration));
    new ResizeObserver(() => this.#draw()).observe(this.#wave);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  async open(file) {
    URL.revokeObjectURL(this.#address);
    this.#file = file;
    this.#peaks = [];
    this.#address = URL.createObjectURL(file);
    byId("player").hidden = false;
    byId("unplayable").hidden = this.#wave.hidden = true;
    byId("chosen").textContent = file.name;
    this.#audio.src = this.#address;
    const seconds = await this.#length();
    if (!(seconds <= LONGEST_PICTURE_SECONDS)) return;
    const peaks = await loudness(file);
    // Another one may have been opened meanwhile.
    if (file !== this.#file) return;
    this.#peaks = peaks;
    this.#wave.hidden = !peaks.length;
    this.#draw();
  }

  play(seconds) {
    this.seek(seconds);
    this.#audio.play().catch(() => {});
  }

  seek(seconds) {
    if (Number.isFinite(seconds)) this.#audio.currentTime = seconds;
  }

  // What browsers record does not say how long it is.
  #length() {
    const audio = this.#audio;
    return new Promise((resolve) => {
      audio.addEventListener("error", () => resolve(Infinity), { once: true });
      audio.addEventListener("loadedmetadata", () => {
        if (Number.isFinite(audio.duration)) return resolve(audio.duration);
        audio.addEventListener("seeked", () => {
          audio.currentTime = 0;
          resolve(audio.duration);
        }, { once: true });
        audio.currentTime = FAR_SECONDS;
      }, { once: true });
    });
  }

  #tick() {
    cancelAnimationFrame(this.#frame);
    this.#moved(this.#audio.currentTime);
    this.#draw();
    if (!this.#audio.paused) this.#frame = requestAnimationFrame(() => this.#tick());
  }

  #draw() {
    const [width, height, ratio] = [this.#wave.clientWidth, this.#wave.clientHeight, devicePixelRatio];
    if (!width || !this.#peaks.length) return;
    [this.#wave.width, this.#wave.height] = [width * ratio, height * ratio];
    const brush = this.#wave.getContext("2d");
    const colours = getComputedStyle(document.documentElement);
    const [played, rest] = ["--accent", "--edge"].map((name) => colours.getPropertyValue(name));
    const at = (this.#audio.currentTime / this.#audio.duration) * width;
    const loudest = Math.max(...this.#peaks) || 1;
    brush.scale(ratio, ratio);
    for (let left = 0; left < width; left += 3) {
      const peak = this.#peaks[Math.floor((left / width) * this.#peaks.length)] / loudest;
      brush.fillStyle = left < at ? played : rest;
      brush.fillRect(left, (height * (1 - peak)) / 2, 2, Math.max(1, height * peak));
    }
  }
}

const PEAKS = 500;

// The loudest sample of each of so many stretches; none where the browser cannot read the file.
async function loudness(file) {
  try {
    const decoded = await new OfflineAudioContext(1, 1, PICTURE_RATE).decodeAudioData(await file.arrayBuffer());
    const samples = decoded.getChannelData(0);
    const stretch = Math.max(1, Math.floor(samples.length / PEAKS));
    return Array.from({ length: Math.min(PEAKS, samples.length) }, (_, place) =>
      samples.subarray(place * stretch, (place + 1) * stretch).reduce((most, value) => Math.max(most, Math.abs(value)), 0),
    );
  } catch {
    return [];
  }
}
