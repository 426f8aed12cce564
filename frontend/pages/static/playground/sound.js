// Plays a WAV file with Web Audio while it arrives. The header of such a file has no length.

// Samples per second of most voices; others are resampled.
const RATE = 22_050;
// Seconds between the arrival of samples and their sound. With less, the beginning is lost.
const AHEAD = 0.05;
// Bytes of the header of the server's WAV files, and the place of the sample rate in it.
const HEAD = 44;
const RATE_AT = 24;

export class Sound {
  #notify; #context = null;

  // Calls `notify` with the seconds from the beginning to the first sound, and with null at the end of all sound.
  constructor(notify) {
    this.#notify = notify;
  }

  stop() {
    this.#context?.close();
    this.#context = null;
    this.#notify(null);
  }

  // Begins a new sound; only in a click, because browsers allow no other. Returns `take` for the pieces of a file, and `end`.
  begin(signal) {
    this.stop();
    const begun = performance.now();
    const context = (this.#context = new AudioContext({ sampleRate: RATE }));
    let [rest, rate, until, sounding, ended] = [new Uint8Array(), 0, 0, 0, false];
    const over = () => ended && !sounding && this.#context === context && this.stop();
    signal.addEventListener("abort", () => this.#context === context && this.stop());

    const take = (piece) => {
      if (this.#context !== context) return;
      let bytes = joined(rest, piece);
      if (!rate) {
        if (bytes.length < HEAD) return (rest = bytes);
        rate = new DataView(bytes.buffer).getUint32(RATE_AT, true);
        bytes = bytes.slice(HEAD);
      }
      const whole = bytes.length - (bytes.length % 2);
      rest = bytes.slice(whole);
      if (whole) play(new Int16Array(bytes.buffer, 0, whole / 2));
    };

    const play = (samples) => {
      const buffer = context.createBuffer(1, samples.length, rate);
      buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 2 ** 15), 0);
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(context.destination);
      source.addEventListener("ended", () => {
        sounding -= 1;
        over();
      });
      if (!until) this.#notify((performance.now() - begun) / 1000 + AHEAD);
      // After a gap, sound goes on as soon as it can.
      until = Math.max(until, context.currentTime + AHEAD);
      source.start(until);
      until += buffer.duration;
      sounding += 1;
    };

    const end = () => {
      ended = true;
      over();
    };
    return { take, end };
  }
}

function joined(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

// The file with its length in its header, which players need.
export function measured(body) {
  const head = new DataView(body);
  head.setUint32(4, body.byteLength - 8, true);
  head.setUint32(HEAD - 4, body.byteLength - HEAD, true);
  return body;
}
