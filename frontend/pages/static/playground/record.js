// A recording from the microphone, as the browser makes them; it ends by itself before it is too large to send.

const TELL_MS = 500;

// False where the page came over plain http from another machine: browsers give no microphone there.
export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia && window.MediaRecorder);

// `told` hears of the seconds while it goes on. Gives `stop`, and `file`, a promise of what was recorded.
export async function record(largest, told) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const started = performance.now();
  const pieces = [];
  const stop = () => recorder.state === "inactive" || recorder.stop();
  const file = new Promise((resolve, reject) => {
    recorder.addEventListener("dataavailable", ({ data }) => {
      pieces.push(data);
      told((performance.now() - started) / 1000);
      // Two pieces more may come before it has ended.
      if (pieces.reduce((sum, piece) => sum + piece.size, 3 * data.size) > largest) stop();
    });
    recorder.addEventListener("error", ({ error }) => reject(error));
    recorder.addEventListener("stop", () => {
      for (const track of stream.getTracks()) track.stop();
      const type = recorder.mimeType.split(";")[0];
      resolve(new File(pieces, `recording.${type.split("/")[1]}`, { type }));
    });
  });
  recorder.start(TELL_MS);
  return { stop, file };
}
