"""Weights of tokens as sparse vectors."""

from collections import defaultdict

import numpy as np
import pytest

from frontend.extensions.sparse.vectors import sparse_vector
from frontend.text.tokens import Ids


def _of_flag_embedding(ids: Ids, weights: list[float], unused: list[int]) -> dict[int, float]:
    """As FlagEmbedding's ``_process_token_weights``."""
    result: dict[int, float] = defaultdict(float)
    for weight, index in zip(weights, ids.tolist(), strict=True):
        if index not in unused and weight > 0 and weight > result[index]:
            result[index] = weight
    return dict(result)


@pytest.mark.parametrize("length", [1, 2, 7, 500])
def test_it_is_what_flag_embedding_makes_of_the_weights(length: int) -> None:
    rng = np.random.default_rng(length)
    ids = rng.integers(0, 40, length).astype(np.int32)
    weights = np.maximum(rng.normal(size=length), 0).astype(np.float32)
    indices, values = sparse_vector(ids, weights, [0, 1, 2, 3])
    assert dict(zip(indices.tolist(), values.tolist(), strict=True)) == _of_flag_embedding(
        ids, weights.tolist(), [0, 1, 2, 3]
    )
    assert (np.diff(indices) > 0).all()


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [0.5, 0.25]])
def test_a_text_of_special_tokens_or_without_weight_has_no_entries(weights: list[float]) -> None:
    indices, values = sparse_vector(np.array([0, 2][: len(weights)], np.int32), np.array(weights, np.float32), [0, 2])
    assert (len(indices), len(values)) == (0, 0)
