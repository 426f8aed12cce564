"""Groups texts into blocks that are computed together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# Tokens per block. Fewer do not fill the matrix units, and more do not fit in the caches.
_TOKENS = 768
# The most places of the padded batch per token. Attention has a row per text, each as long as the longest text.
_PLACES = 2


def blocks(lengths: NDArray[np.int32]) -> Iterator[NDArray[np.int64]]:
    """Blocks of texts of similar ``lengths``, as indices, shortest first."""
    order = np.argsort(lengths, kind="stable")
    begin, tokens = 0, 0
    for at, length in enumerate(lengths[order].tolist()):
        tokens += length
        if at > begin and (tokens > _TOKENS or (at - begin + 1) * length > _PLACES * tokens):
            yield order[begin:at]
            begin, tokens = at, length
    if len(order):
        yield order[begin:]
