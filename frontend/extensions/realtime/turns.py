"""Audio that arrives to speech: decodes it, finds speech in it, and tells where turns begin and end."""

from dataclasses import dataclass
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME, Detector, gain_at, peaks

FRAME_MS = 1000 * FRAME // SAMPLE_RATE
# Decoder, samples per second and bytes per sample of each format.
FORMATS = {
    "audio/pcm": ("pcm_s16le", 24_000, 2),
    "audio/pcmu": ("pcm_mulaw", 8_000, 1),
    "audio/pcma": ("pcm_alaw", 8_000, 1),
}
# The peak of speech falls by half in 22 s without speech.
_FALL = 0.999
# Frames that are as loud, so that a click is not taken for speech.
_AS_LOUD = 4
# Speech goes on down to this much below the threshold.
_HYSTERESIS = 0.15
# Frames of speech that begin a turn, so that a click does not.
_LEAST_FRAMES = 2

Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Frames:
    """Samples int16 [frames, 512] at 16 kHz, and the speech probability float32 [frames] of each frame.

    The last frame may be padded: ``count`` is the number of samples that arrived.
    """

    samples: Samples
    probabilities: NDArray[np.float32]
    count: int


class StreamDetector:
    """Decodes and resamples one stream of audio. It is used by one thread at a time."""

    def __init__(self, audio_format: str, rate: int | None = None) -> None:
        self._codec, usual, self._width = FORMATS[audio_format]
        self._rate = rate or usual
        self._odd = b""
        self._rest = np.zeros(0, np.int16)
        self._detector = Detector()
        self._level, self._latest = 0.0, [0.0] * _AS_LOUD
        self._start()

    def _start(self) -> None:
        decoder: av.AudioCodecContext = av.CodecContext.create(self._codec, "r")
        decoder.sample_rate, decoder.layout = self._rate, "mono"
        self._decoder = decoder
        self._resampler = av.AudioResampler("s16", "mono", SAMPLE_RATE)

    def detect(self, data: bytes, *, last: bool = False) -> Frames:
        """The frames that are complete after ``data``. With ``last``, the rest is padded to a frame."""
        data = self._odd + data
        even = len(data) // self._width * self._width
        data, self._odd = data[:even], b"" if last else data[even:]
        decoded = self._decoder.decode(av.Packet(data)) if data else []
        parts = [self._rest]
        for frame in [*decoded, *([None] if last else [])]:
            parts += [part.to_ndarray().reshape(-1) for part in self._resampler.resample(frame)]
        samples = np.concatenate(parts)
        if last:
            # A resampler that gave its last samples takes no more.
            self._start()
        whole = -(-len(samples) // FRAME) if last else len(samples) // FRAME
        count = min(len(samples), whole * FRAME)
        self._rest = samples[count:].copy()
        frames = np.zeros((whole, FRAME), np.int16)
        frames.reshape(-1)[:count] = samples[:count]
        return Frames(frames, self._detector.probabilities(frames, self._gains(frames)), count)

    def _gains(self, frames: Samples) -> NDArray[np.float32]:
        """The gain for each frame, by the running peak."""
        gains = np.empty(len(frames), np.float32)
        for index, peak in enumerate(peaks(frames).tolist()):
            self._latest = [*self._latest[1:], peak]
            self._level = max(self._level * _FALL, min(self._latest))
            gains[index] = gain_at(self._level)
        return gains


class Turns:
    """Where turns begin and end, frame by frame: a turn ends after ``silence_ms`` without speech."""

    def __init__(self, threshold: float, silence_ms: float) -> None:
        self._threshold, self._silence_frames = threshold, max(1, round(silence_ms / FRAME_MS))
        self._speaking = False
        self._loud = self._quiet = 0

    def next(self, probability: float) -> Literal["started", "stopped"] | None:
        """What the next frame means."""
        if not self._speaking:
            self._loud = self._loud + 1 if probability >= self._threshold else 0
            if self._loud < _LEAST_FRAMES:
                return None
            self._speaking, self._quiet = True, 0
            return "started"
        self._quiet = 0 if probability >= self._threshold - _HYSTERESIS else self._quiet + 1
        if self._quiet < self._silence_frames:
            return None
        self._speaking, self._loud = False, 0
        return "stopped"
