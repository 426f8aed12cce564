"""Finds where the language changes within a window, from the encoder's output of the whole window."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from engines import Encoded, Engine, Float

# Frames of a part whose language is asked, and frames between two parts. Shorter parts are told apart badly.
_PART, _STEP = 150, 75
# A language counts if it has the first probability in the whole window, and the second one in a part of its own. Of 60
# windows of two languages, 23 are found so, and none of 50 windows of one language is cut.
_LEAST, _SURE = 0.02, 0.5
# The probability of any language in a part, which may be a name or a noise; and what a change costs, in nats.
_FLOOR, _CHANGE = 0.02, 1.5
# Frames of the shortest audio before and after a change, and samples per frame.
_SHORTEST = 75
_SAMPLES = 320
# Frames over which loudness is averaged.
_SMOOTH = 7


def changes(engine: Engine, encoded: Encoded, ranking: Mapping[int, float], audio: Float) -> list[int]:
    """The samples of ``audio`` [n] at which the language changes, in pauses; ``ranking`` is the whole window's."""
    frames = len(audio) // _SAMPLES
    starts = range(0, frames - _PART + 1, _STEP)
    candidates = [token for token, probability in ranking.items() if probability >= _LEAST]
    if len(starts) < 2 or len(candidates) < 2:
        return []
    parts = engine.languages([encoded.part(start, start + _PART) for start in starts])
    probabilities = [[part.get(token, 0.0) for token in candidates] for part in parts]
    spoken = _likeliest(probabilities)
    if not _is_sure(spoken, probabilities):
        return []
    found: list[int] = []
    for place in range(1, len(spoken)):
        if spoken[place] != spoken[place - 1]:
            first = max(starts[place - 1] + _PART // 2, _SHORTEST, *(end // _SAMPLES + _SHORTEST for end in found))
            last = min(starts[place] + _PART // 2, frames - _SHORTEST)
            if first < last:
                found.append(_quietest(audio, first, last) * _SAMPLES)
    return found


def _likeliest(probabilities: Sequence[Sequence[float]]) -> list[int]:
    """The likeliest language of each part, by its place, if each change has its cost (Viterbi's algorithm)."""
    logs = np.log(np.maximum(probabilities, _FLOOR))
    best, origins = logs[0], list[Any]()
    for row in logs[1:]:
        changed = best.max() - _CHANGE
        origins.append(np.where(best >= changed, np.arange(len(best)), best.argmax()))
        best = np.maximum(best, changed) + row
    path = [int(best.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return path[::-1]


def _is_sure(spoken: Sequence[int], probabilities: Sequence[Sequence[float]]) -> bool:
    """Whether each stretch in one language has a part that surely is."""
    stretches = groupby(zip(spoken, probabilities, strict=True), key=itemgetter(0))
    return all(max(row[language] for _, row in parts) >= _SURE for language, parts in stretches)


def _quietest(audio: Float, first: int, last: int) -> int:
    """The frame from ``first`` to ``last`` around which the audio is quietest."""
    loudness = np.abs(audio[: len(audio) // _SAMPLES * _SAMPLES]).reshape(-1, _SAMPLES).mean(axis=1)
    smooth = np.convolve(loudness, np.full(_SMOOTH, 1 / _SMOOTH), "same")
    return first + int(smooth[first:last].argmin())
