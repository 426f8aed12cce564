// A recording from the microphone, as the browser makes them; it ends by itself before it is too large to send.

const PIECE_MS = 500;
const LEVEL_MS = 100;

// False where the page came over plain http from another machine: browsers give no microphone there.
export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia && window.MediaRecorder);

// Calls `passed` with the seconds so far and `showLevel` with the loudness, from 0 to 1. Returns `stop`, and `file`, a promise of the recording.
export async function record(largest, passed, showLevel) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const stopLevel = level(stream, showLevel);
  const started = performance.now();
  const pieces = [];
  const stop = () => recorder.state === "inactive" || recorder.stop();
  const file = new Promise((resolve, reject) => {
    recorder.addEventListener("dataavailable", ({ data }) => {
      pieces.push(data);
      passed((performance.now() - started) / 1000);
      // Two pieces more may come before it has ended.
      if (pieces.reduce((sum, piece) => sum + piece.size, 3 * data.size) > largest) stop();
    });
    recorder.addEventListener("error", ({ error }) => reject(error));
    recorder.addEventListener("stop", () => {
      stopLevel();
      for (const track of stream.getTracks()) track.stop();
      const type = recorder.mimeType.split(";")[0];
      resolve(new File(pieces, `recording.${type.split("/")[1]}`, { type }));
    });
  });
  recorder.start(PIECE_MS);
  return { stop, file };
}

// Calls `showLevel` with the loudness of a microphone, until the returned function is called. A level of 0 is -60 dB.
export function level(stream, showLevel) {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    showLevel(Math.max(0, 1 + Math.log10(power + 1e-12) / 6));
  }, LEVEL_MS);
  return () => {
    clearInterval(timer);
    context.close();
  };
}
