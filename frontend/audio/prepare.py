"""Prepares an upload in a worker process: decodes, finds speech, cuts windows."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE, decode
from frontend.audio.detector import FRAME, speech_probabilities
from frontend.audio.speech_windows import Window, cut_windows, is_silent
from frontend.processes.shared_memory import Attached

SAMPLE_BYTES = 2
# Shorter audio has no speech.
_SHORTEST_SECONDS = 0.1


@dataclass(frozen=True)
class WindowRules:
    """How to read a file: loudness in decibels below full scale, a probability, and seconds.

    ``more_audio`` is whether kinds of that extension are read. Files of less than ``least_seconds`` are refused.
    """

    silence_dbfs: float
    speech_probability: float
    window_seconds: float
    more_audio: bool = False
    least_seconds: float = -math.inf


@dataclass(frozen=True)
class SpokenWindow:
    """Speech without its longer pauses: ``[start, end)`` of the kept samples.

    ``pieces`` are the starts of its pieces, in seconds of the window and of the file. The detector found speech in
    ``spoken`` seconds of it.
    """

    pieces: tuple[tuple[float, float], ...]
    start: int
    end: int
    spoken: float

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / SAMPLE_RATE

    def times_of_file(self, start: float, end: float) -> tuple[float, float]:
        """Map the start and end of a word from seconds of the window to seconds of the file.

        A word across a removed pause belongs to the piece that has more of it.
        """
        first, last = self._piece_at(start), self._piece_at(end)
        pieces = range(first, max(first, last) + 1)
        within = [(max(start, self.pieces[at][0]), min(end, self._end_of(at)), at) for at in pieces]
        start, end, piece = max(within, key=lambda part: part[1] - part[0])
        shift = self.pieces[piece][1] - self.pieces[piece][0]
        return start + shift, end + shift

    def _piece_at(self, second: float) -> int:
        return bisect_right(self.pieces, second, lo=1, key=itemgetter(0)) - 1

    def _end_of(self, piece: int) -> float:
        return self.pieces[piece + 1][0] if piece + 1 < len(self.pieces) else self.seconds


@dataclass(frozen=True)
class Prepared:
    """A decoded file: its length in seconds, and its windows of speech, none if it is silent."""

    duration: float
    windows: list[SpokenWindow]


def room_for(seconds: float) -> int:
    """Bytes to prepare a file of ``seconds``."""
    return SAMPLE_BYTES * (int(seconds * SAMPLE_RATE) + FRAME)


def prepare(upload: Attached, into: Attached, limits: WindowRules) -> Prepared:
    """Decode a file, and write the windows of its speech, end to end, to ``into``. Raises the errors of ``decode``.

    ``into`` has room for the longest accepted file.
    """
    samples = into.samples()
    # The last frame may need some zeros after the audio.
    with upload.file() as file:
        count = decode(file, samples[:-FRAME], more=limits.more_audio, least_seconds=limits.least_seconds)
    duration, audio = count / SAMPLE_RATE, samples[:count]
    if duration < _SHORTEST_SECONDS or is_silent(audio, limits.silence_dbfs):
        return Prepared(duration, [])
    frames = samples[: -(-count // FRAME) * FRAME].reshape(-1, FRAME)
    probabilities = speech_probabilities(frames, int(32768 * 10 ** (limits.silence_dbfs / 20)))
    windows = cut_windows(probabilities, limits.speech_probability, count, limits.window_seconds)
    return Prepared(duration, _kept(samples, windows))


def _kept(samples: NDArray[np.int16], cut: list[Window]) -> list[SpokenWindow]:
    """Move the windows' samples, in order, to the front."""
    windows: list[SpokenWindow] = []
    position = 0
    for window in cut:
        start, pieces = position, []
        for piece in window.pieces:
            pieces.append(((position - start) / SAMPLE_RATE, piece.start / SAMPLE_RATE))
            length = piece.end - piece.start
            samples[position : position + length] = samples[piece.start : piece.end]
            position += length
        windows.append(SpokenWindow(tuple(pieces), start, position, window.spoken / SAMPLE_RATE))
    return windows
