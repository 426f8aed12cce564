"""Finds speech with Silero's voice detector (MIT, of the package silero-vad 6.2.3), which ONNX Runtime runs.

The detector has a state. Its variant for sequences processes many frames per run, in a quarter of the time. Almost
constant audio is no speech and is skipped. The detector misses words of quiet speech, so quiet audio is made louder.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

FRAME = 512  # samples
_CONTEXT = 64  # samples before a frame
_STATE = 128
# Frames per run that fit into a processor's caches.
_AT_ONCE = 64
# Frames per block. Blocks without sound are skipped, except next to a block with sound.
_BLOCK = 16

# Of full scale. Audio that is louder than the first for an eighth of a second stays as it is; other audio is brought to
# the second, but never made louder than it takes for the quietest that is no silence.
_QUIET, _LOUD, _LEAST = 0.05, 0.5, 10 ** (-50 / 20)
_LOUD_FRAMES = 4
_FULL_SCALE = 32768

Samples = NDArray[np.int16]


@cache
def load_detector() -> Any:
    """The detector of this worker process. Creating a session is too slow to do per file."""
    path = Path(__file__).with_name("silero_vad_16k_sequence.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Detector:
    """The detector's state within one stretch of audio, which may come in parts."""

    def __init__(self) -> None:
        self._hidden, self._cell = np.zeros((2, 1, 1, _STATE), np.float32)
        self._context = np.zeros(_CONTEXT, np.float32)

    def probabilities(self, frames: Samples, gains: NDArray[np.float32] | float = 1.0) -> NDArray[np.float32]:
        """Speech probability of each frame that follows: int16 [frames, 512] to float32 [frames].

        ``gains`` has one for each frame, or one for all.
        """
        scale = np.broadcast_to(np.float32(gains) / np.float32(_FULL_SCALE), len(frames))[:, None]
        result = np.empty(len(frames), np.float32)
        for first in range(0, len(frames), _AT_ONCE):
            batch = np.clip(frames[first : first + _AT_ONCE] * scale[first : first + _AT_ONCE], -1, 1)
            # Each frame is preceded by the last samples of the previous one.
            with_context = np.empty((len(batch), _CONTEXT + FRAME), np.float32)
            with_context[:, _CONTEXT:] = batch
            with_context[0, :_CONTEXT], with_context[1:, :_CONTEXT] = self._context, batch[:-1, -_CONTEXT:]
            self._context = batch[-1, -_CONTEXT:].copy()
            inputs = {"input": with_context, "h": self._hidden, "c": self._cell}
            result[first : first + len(batch)], self._hidden, self._cell = load_detector().run(None, inputs)
        return result


def speech_probabilities(frames: Samples, quiet: int = 0) -> NDArray[np.float32]:
    """Speech probability of each frame: int16 [frames, 512] to float32 [frames].

    Frames whose samples differ by less than twice ``quiet`` for half a second or more get 0 without a run.
    """
    result = np.zeros(len(frames), np.float32)
    gain = gain_at(loudness(frames))
    for start, end in _stretches(frames, quiet):
        result[start:end] = Detector().probabilities(frames[start:end], gain)
    return result


def peaks(frames: Samples) -> NDArray[np.float32]:
    """The peak of each frame, of full scale."""
    highest, lowest = (each.astype(np.float32) for each in (frames.max(axis=1), frames.min(axis=1)))
    return np.asarray(np.maximum(highest, -lowest) / _FULL_SCALE, np.float32)


def loudness(frames: Samples) -> float:
    """The peak that an eighth of a second of frames reaches, of full scale, so that a click is not taken for it."""
    if not len(frames):
        return 0.0
    index = max(0, len(frames) - _LOUD_FRAMES)
    return float(np.partition(peaks(frames), index)[index])


def gain_at(level: float) -> float:
    """The gain for speech whose peaks are at a level of full scale."""
    return _LOUD / max(level, _LEAST) if level < _QUIET else 1.0


def _stretches(frames: Samples, quiet: int) -> list[tuple[int, int]]:
    """The frames ``[start, end)`` that the detector runs on."""
    blocks = -(-len(frames) // _BLOCK)
    loud = np.zeros(blocks + 2, bool)
    for block in range(blocks):
        block_frames = frames[block * _BLOCK : (block + 1) * _BLOCK]
        loud[block + 1] = int(block_frames.max()) - int(block_frames.min()) >= 2 * quiet
    near = loud[:-2] | loud[1:-1] | loud[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
    return [
        (int(start) * _BLOCK, min(int(end) * _BLOCK, len(frames)))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]
