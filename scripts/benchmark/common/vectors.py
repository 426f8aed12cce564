"""How far vectors are apart."""

import numpy as np


def apart(ones: np.ndarray, others: np.ndarray) -> float:
    """The largest 1 - cosine between rows, in double precision."""
    pairs = [rows.astype(np.float64) for rows in (ones, others)]
    unit, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in pairs)
    return float((1 - (unit * other).sum(axis=1)).max())
