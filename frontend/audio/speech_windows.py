"""Cut audio, at pauses, into windows that a model takes and that hold all the speech.

The start and end rule with two thresholds is the one that the voice detector's authors use.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME

_HYSTERESIS = 0.15
_LEAST_PAUSE_FRAMES = 4
_PADDING_SECONDS = 0.2
# Pauses shorter than this are inside of a sentence more often than between two.
_CUT_PAUSE_SECONDS = 0.3
_SEARCHED_SHARE = 0.4

Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Region:
    """Samples ``[start, end)`` of the audio."""

    start: int
    end: int


def is_silent(audio: Samples, peak_dbfs: float) -> bool:
    """Whether no sample reaches ``peak_dbfs`` (decibels below full scale)."""
    peak = max(int(audio.max(initial=0)), -int(audio.min(initial=0))) / 32768
    return bool(peak < 10 ** (peak_dbfs / 20))


def speech_runs(probabilities: NDArray[np.float32], threshold: float, samples: int) -> list[Region]:
    """Where speech is: it starts at ``threshold`` and ends with a pause well below it."""
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
    """Cut a region without a pause at the frame that sounds least like speech in the last part of each window."""
    parts = []
    start = region.start
    while region.end - start > longest:
        low = (start + int(longest * (1 - _SEARCHED_SHARE))) // FRAME
        high = (start + longest) // FRAME
        cut = (low + int(probabilities[low:high].argmin())) * FRAME + FRAME // 2
        parts.append(Region(start, cut))
        start = cut
    return [*parts, Region(start, region.end)]


def _pad(regions: list[Region], padding: int, samples: int) -> list[Region]:
    """Widen every region on both sides, to the middle of the pause at most."""
    middles = [(left.end + right.start) // 2 for left, right in zip(regions, regions[1:], strict=False)]
    lows, highs = [0, *middles], [*middles, samples]
    return [
        Region(max(region.start - padding, low), min(region.end + padding, high))
        for region, low, high in zip(regions, lows, highs, strict=False)
    ]


def cut_windows(
    probabilities: NDArray[np.float32], threshold: float, samples: int, window_seconds: float, min_window_seconds: float
) -> list[Region]:
    """Windows of at most ``window_seconds`` that hold all the speech, cut at pauses, in order.

    Neighbours are joined while the window stays within ``min_window_seconds``, which the model pads to anyway, or
    while the pause between them is too short to be the end of a sentence.
    """
    padding = int(_PADDING_SECONDS * SAMPLE_RATE)
    longest = int(window_seconds * SAMPLE_RATE) - 2 * padding
    free = int(min_window_seconds * SAMPLE_RATE) - 2 * padding
    windows: list[Region] = []
    for run in speech_runs(probabilities, threshold, samples):
        for part in _split_long(run, longest, probabilities):
            joined = Region(windows[-1].start, part.end) if windows else part
            length = joined.end - joined.start
            close = bool(windows) and part.start - windows[-1].end < _CUT_PAUSE_SECONDS * SAMPLE_RATE
            if windows and length <= longest and (length <= free or close):
                windows[-1] = joined
            else:
                windows.append(part)
    return _pad(windows, padding, samples)
