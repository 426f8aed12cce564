"""When each token is spoken, from the attention of the decoder's alignment heads.

The method is that of OpenAI's ``whisper/timing.py``: attention probabilities, normalised per frame over the tokens,
smoothed over time and averaged over the heads; then dynamic time warping finds the best monotonic path.
"""

import numpy as np
from engines import Float
from numpy.typing import NDArray

_SMOOTHED = 7


def token_starts(queries: Float, keys: Float, task: int) -> NDArray[np.float64]:
    """The frame at which each of the tokens after the first ``task`` ones is spoken, ascending.

    ``queries`` [heads, tokens, width of a head], ``keys`` [heads, frames, width of a head]. The query of a token
    finds the next one: the last of ``task`` finds the first of the text, the last of the text finds the end.
    """
    attention = queries @ keys.transpose(0, 2, 1)
    attention -= attention.max(axis=-1, keepdims=True)
    np.exp(attention, out=attention)
    attention /= attention.sum(axis=-1, keepdims=True)
    attention -= attention.mean(axis=1, keepdims=True)
    attention /= np.maximum(attention.std(axis=1, keepdims=True), 1e-9)
    return _best_path(_smoothed(attention).mean(axis=0)[task - 1 :])


def _smoothed(rows: Float) -> Float:
    """The median of seven frames around each frame, [..., frames], with mirrored ends."""
    reach = _SMOOTHED // 2
    padded = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(reach, reach)], mode="reflect")
    frames = rows.shape[-1]
    return _median_of_7([padded[..., at : at + frames] for at in range(_SMOOTHED)])


def _median_of_7(given: list[Float]) -> Float:
    """The median of seven arrays, element by element (Devillard, Fast median search, 1998)."""
    ordered = list(given)
    for low, high in ((0, 5), (0, 3), (1, 6), (2, 4), (0, 1), (3, 5), (2, 6), (2, 3), (3, 6), (4, 5), (1, 4), (1, 3)):
        ordered[low], ordered[high] = np.minimum(ordered[low], ordered[high]), np.maximum(ordered[low], ordered[high])
    return np.minimum(ordered[3], ordered[4])


def _best_path(gain: Float) -> NDArray[np.float64]:
    """The frame at which the path of the highest ``gain`` [rows, frames] enters each row.

    Within a row, the best path to a frame entered from the row before at some frame k. A running maximum of the total
    at k minus the row's gain before k finds it for all frames at once.
    """
    rows, frames = gain.shape
    totals = np.zeros((rows + 1, frames + 1))
    totals[0, 1:] = totals[1:, 0] = -np.inf
    along = np.zeros((rows, frames + 1))
    np.cumsum(gain, axis=1, out=along[:, 1:])
    for row in range(rows):
        entered = np.maximum(totals[row, :-1], totals[row, 1:]) - along[row, :-1]
        totals[row + 1, 1:] = np.maximum.accumulate(entered) + along[row, 1:]
    starts = np.zeros(rows)
    row, frame = rows, frames
    while row:
        diagonal, above, before = totals[row - 1, frame - 1], totals[row - 1, frame], totals[row, frame - 1]
        if before > diagonal and before > above:
            frame -= 1
            continue
        starts[row - 1] = frame - 1
        row -= 1
        if diagonal >= above:
            frame -= 1
    return starts
