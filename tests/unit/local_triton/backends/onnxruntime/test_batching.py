"""Requests are joined and answers cut as the C++ backend does."""

import numpy as np
import pytest

from tests.unit.local_triton.backends.onnxruntime import stand_in
from tests.unit.local_triton.backends.onnxruntime.stand_in import batching

RAGGED = stand_in.model_config.check(stand_in.RAGGED, stand_in.INPUTS, stand_in.OUTPUTS)
DENSE = stand_in.model_config.check(stand_in.DENSE, stand_in.DENSE_INPUTS, stand_in.DENSE_OUTPUTS)


def test_ragged_requests_are_joined_end_to_end() -> None:
    requests = [{"ids": np.arange(n)[None], "lengths": np.array([[n]])} for n in (2, 3)]
    assert batching.join(RAGGED, requests)["ids"].tolist() == [0, 1, 0, 1, 2]


def test_each_request_gets_its_rows_back() -> None:
    requests = [{"ids": None, "lengths": np.zeros((1, texts))} for texts in (2, 1)]
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, second = batching.split(RAGGED, requests, "vector", rows)
    assert first.shape == (1, 2, 4)
    assert second.tolist() == [[rows[2].tolist()]]


def test_dense_requests_are_joined_along_the_batch() -> None:
    requests = [{"x": np.full((n, 3), n)} for n in (1, 2)]
    parts = batching.split(DENSE, requests, "y", batching.join(DENSE, requests)["x"][:, :2])
    assert [part.tolist() for part in parts] == [[[1, 1]], [[2, 2], [2, 2]]]


def test_a_wrong_number_of_rows_is_noticed() -> None:
    with pytest.raises(ValueError, match="elements"):
        batching.split(RAGGED, [{"lengths": np.zeros((1, 2))}], "vector", np.zeros((3, 4)))
