"""Groups texts that are computed together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# Fewer give its matrix units too little to do, and what more of them give stays in no cache.
_TOKENS = 768
# For attention texts lie on a grid, a row each, as long as the longest: at most so many places for each token.
_PLACES = 2


def blocks(lengths: NDArray[np.int32]) -> Iterator[NDArray[np.int64]]:
    """Texts of these ``lengths``, by their numbers, in blocks of like lengths, the shortest first."""
    order = np.argsort(lengths, kind="stable")
    begin, tokens = 0, 0
    for at, length in enumerate(lengths[order].tolist()):
        tokens += length
        if at > begin and (tokens > _TOKENS or (at - begin + 1) * length > _PLACES * tokens):
            yield order[begin:at]
            begin, tokens = at, length
    if len(order):
        yield order[begin:]
