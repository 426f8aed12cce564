"""The packed form in which token ids travel: every text end to end in one row, and the length of each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

INPUTS = ("input_ids", "lengths")


def packed_inputs(texts: list[NDArray[np.int32]]) -> dict[str, NDArray[Any]]:
    """``input_ids`` INT32 [1, tokens] and ``lengths`` INT32 [1, texts]."""
    lengths = np.array([[len(text) for text in texts]], np.int32)
    return {"input_ids": np.concatenate(texts)[None], "lengths": lengths}
