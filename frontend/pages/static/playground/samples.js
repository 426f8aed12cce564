// An AudioWorklet that resamples a microphone to 16 bits at 24,000 Hz, and posts a tenth of a second at a time.

const RATE = 24_000;

class Samples extends AudioWorkletProcessor {
  #batch = new Int16Array(RATE / 10); #count = 0; #sum = 0; #filled = 0;

  // Each sample is the mean of the input over its time. Times are in units of 1 / (sampleRate * RATE) s, which are whole numbers.
  process([[input = []]]) {
    for (const value of input) {
      for (let left = RATE; left; ) {
        const part = Math.min(left, sampleRate - this.#filled);
        this.#sum += value * part;
        this.#filled += part;
        left -= part;
        if (this.#filled === sampleRate) this.#put(this.#sum / sampleRate);
      }
    }
    return true;
  }

  #put(value) {
    this.#sum = this.#filled = 0;
    this.#batch[this.#count++] = Math.max(-1, Math.min(1, value)) * 32_767;
    if (this.#count < this.#batch.length) return;
    this.#count = 0;
    this.port.postMessage(this.#batch.slice());
  }
}

registerProcessor("samples", Samples);
