"""Cuts audio at pauses into windows for the model. The windows contain all speech.

The detector's authors use the same rule for start and end, with two thresholds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME

_HYSTERESIS = 0.15  # speech goes on down to this much below the threshold
_LEAST_PAUSE_FRAMES = 4
_PADDING_SECONDS = 0.2
# Longest pause that a window keeps, in seconds.
_PAUSE_SECONDS = 0.3
_SEARCHED_SHARE = 0.4  # of a window, at its end, for a cut

Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Region:
    """Samples ``[start, end)`` of the audio."""

    start: int
    end: int


@dataclass(frozen=True)
class Window(Region):
    """A region without the ``left_out`` parts of its long pauses, in order; ``spoken`` samples of it are speech."""

    left_out: tuple[Region, ...] = ()
    spoken: int = 0

    @property
    def pieces(self) -> list[Region]:
        """The regions that the window keeps."""
        starts = [self.start, *(pause.end for pause in self.left_out)]
        ends = [*(pause.start for pause in self.left_out), self.end]
        return [Region(start, end) for start, end in zip(starts, ends, strict=True)]


def is_silent(audio: Samples, peak_dbfs: float) -> bool:
    """Whether no sample reaches ``peak_dbfs`` (decibels below full scale)."""
    peak = max(int(audio.max(initial=0)), -int(audio.min(initial=0))) / 32768
    return bool(peak < 10 ** (peak_dbfs / 20))


def speech_runs(probabilities: NDArray[np.float32], threshold: float, samples: int) -> list[Region]:
    """Regions of speech: each starts at ``threshold`` and ends with a pause well below it."""
    runs: list[list[int]] = []
    speaking, quiet = False, 0
    for index, probability in enumerate(probabilities.tolist()):
        if probability >= threshold and not speaking:
            runs.append([index, index + 1])
            speaking, quiet = True, 0
        elif speaking and probability >= threshold - _HYSTERESIS:
            runs[-1][1] = index + 1
            quiet = 0
        elif speaking:
            quiet += 1
            speaking = quiet < _LEAST_PAUSE_FRAMES
    return [Region(start * FRAME, min(end * FRAME, samples)) for start, end in runs]


def _split_long(region: Region, longest: int, probabilities: NDArray[np.float32]) -> list[Region]:
    """Cut a region without pauses at the least speech-like frame near the end of each window."""
    parts = []
    start = region.start
    while region.end - start > longest:
        low = (start + int(longest * (1 - _SEARCHED_SHARE))) // FRAME
        high = (start + longest) // FRAME
        cut = (low + int(probabilities[low:high].argmin())) * FRAME + FRAME // 2
        parts.append(Region(start, cut))
        start = cut
    return [*parts, Region(start, region.end)]


def _pad(windows: list[Window], padding: int, samples: int) -> list[Window]:
    """Widen each window on both sides, at most to the middle of the pause."""
    middles = [(left.end + right.start) // 2 for left, right in zip(windows, windows[1:], strict=False)]
    lows, highs = [0, *middles], [*middles, samples]
    return [
        Window(max(window.start - padding, low), min(window.end + padding, high), window.left_out, window.spoken)
        for window, low, high in zip(windows, lows, highs, strict=False)
    ]


def cut_windows(
    probabilities: NDArray[np.float32], threshold: float, samples: int, window_seconds: float
) -> list[Window]:
    """Windows with at most ``window_seconds`` of audio that hold all the speech, cut at pauses, in order."""
    padding, pause = int(_PADDING_SECONDS * SAMPLE_RATE), int(_PAUSE_SECONDS * SAMPLE_RATE)
    longest = int(window_seconds * SAMPLE_RATE) - 2 * padding
    windows: list[Window] = []
    length = 0
    for run in speech_runs(probabilities, threshold, samples):
        for part in _split_long(run, longest, probabilities):
            last = windows[-1] if windows else Window(part.start, part.start)
            between = part.start - last.end
            spoken = part.end - part.start
            length += spoken + min(between, pause)
            if windows and length <= longest:
                left_out = (Region(last.end + pause // 2, part.start - pause // 2),) if between > pause else ()
                windows[-1] = Window(last.start, part.end, last.left_out + left_out, last.spoken + spoken)
            else:
                windows.append(Window(part.start, part.end, spoken=spoken))
                length = spoken
    return _pad(windows, padding, samples)
