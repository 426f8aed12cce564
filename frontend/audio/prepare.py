"""What happens to an uploaded file in a worker process: decode, look for speech, cut windows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE, decode
from frontend.audio.detector import FRAME, speech_probabilities
from frontend.audio.speech_windows import cut_windows, is_silent
from frontend.processes.shared_memory import Attached

SAMPLE_BYTES = 2


@dataclass(frozen=True)
class WindowRules:
    """How to read a file: decibels below full scale, a probability, seconds."""

    silence_dbfs: float
    speech_probability: float
    window_seconds: float
    min_window_seconds: float


@dataclass(frozen=True)
class SpokenWindow:
    """Speech that begins ``offset`` seconds into the file: ``[start, end)`` of the samples that are kept."""

    offset: float
    start: int
    end: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end - self.start) / SAMPLE_RATE


@dataclass(frozen=True)
class Prepared:
    """A decoded file: its length in seconds, and its windows of speech, none when it is silent."""

    duration: float
    windows: list[SpokenWindow]


def room_for(seconds: float) -> int:
    """Bytes that the samples of a file of so many seconds need while it is prepared."""
    return SAMPLE_BYTES * (int(seconds * SAMPLE_RATE) + FRAME)


def prepare(upload: Attached, into: Attached, limits: WindowRules) -> Prepared:
    """Decode a file and leave the windows of its speech, end to end, in ``into``; raises the errors of ``decode``.

    ``into`` has room for the longest file that is taken.
    """
    samples = into.samples()
    # The last frame may need some zeros behind the audio.
    count = decode(upload.file(), samples[:-FRAME])
    duration, audio = count / SAMPLE_RATE, samples[:count]
    if is_silent(audio, limits.silence_dbfs):
        return Prepared(duration, [])
    frames = samples[: -(-count // FRAME) * FRAME].reshape(-1, FRAME)
    probabilities = speech_probabilities(frames, int(32768 * 10 ** (limits.silence_dbfs / 20)))
    regions = cut_windows(
        probabilities, limits.speech_probability, count, limits.window_seconds, limits.min_window_seconds
    )
    return Prepared(duration, _kept(samples, [(region.start, region.end) for region in regions]))


def _kept(samples: NDArray[np.int16], regions: list[tuple[int, int]]) -> list[SpokenWindow]:
    """Move the regions, which are in order, to the front."""
    windows: list[SpokenWindow] = []
    place = 0
    for start, end in regions:
        samples[place : place + end - start] = samples[start:end]
        windows.append(SpokenWindow(start / SAMPLE_RATE, place, place + end - start))
        place += end - start
    return windows
