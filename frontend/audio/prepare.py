"""What happens to an uploaded file in a worker process: decode, look for speech, cut windows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE, decode
from frontend.audio.speech_windows import Region, cut_windows, is_silent, speech_probabilities


@dataclass(frozen=True)
class Limits:
    """How to read a file: seconds, decibels below full scale, a probability."""

    max_seconds: float
    silence_dbfs: float
    speech_probability: float
    window_seconds: float
    min_window_seconds: float


@dataclass(frozen=True)
class SpokenWindow:
    """Speech as int16 [samples] at 16 kHz that begins ``offset`` seconds into the file."""

    offset: float
    samples: NDArray[np.int16]


@dataclass(frozen=True)
class Prepared:
    """A decoded file: its length in seconds, and its windows of speech, none when it is silent."""

    duration: float
    windows: list[SpokenWindow]


def prepare(data: bytes, limits: Limits) -> Prepared:
    """Decode a file and cut its speech into windows; raises the errors of ``frontend.audio.decode``."""
    audio = decode(data, limits.max_seconds)
    duration = len(audio) / SAMPLE_RATE
    if is_silent(audio, limits.silence_dbfs):
        return Prepared(duration, [])
    probabilities = speech_probabilities(audio)
    regions: list[Region] = cut_windows(
        probabilities, limits.speech_probability, len(audio), limits.window_seconds, limits.min_window_seconds
    )
    windows = [SpokenWindow(r.start / SAMPLE_RATE, audio[r.start : r.end].copy()) for r in regions]
    return Prepared(duration, windows)
