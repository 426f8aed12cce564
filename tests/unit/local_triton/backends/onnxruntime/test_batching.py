"""Requests are joined and answers cut as the C++ backend does."""

import numpy as np
import pytest

from tests.unit.local_triton.backends.onnxruntime.stand_in import (
    DENSE,
    DENSE_INPUTS,
    DENSE_OUTPUTS,
    INPUTS,
    OUTPUTS,
    RAGGED,
    batching,
    model_config,
)


def test_ragged_requests_are_joined_end_to_end() -> None:
    plan = model_config.check(RAGGED, INPUTS, OUTPUTS)
    requests = [{"ids": np.arange(n)[None], "lengths": np.array([[n]])} for n in (2, 3)]
    assert batching.join(plan, requests)["ids"].tolist() == [0, 1, 0, 1, 2]


def test_each_request_gets_its_rows_back() -> None:
    plan = model_config.check(RAGGED, INPUTS, OUTPUTS)
    requests = [{"ids": None, "lengths": np.zeros((1, texts))} for texts in (2, 1)]
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, second = batching.split(plan, requests, "vector", rows)
    assert first.shape == (1, 2, 4)
    assert second.tolist() == [[rows[2].tolist()]]


def test_dense_requests_are_joined_along_the_batch() -> None:
    plan = model_config.check(DENSE, DENSE_INPUTS, DENSE_OUTPUTS)
    requests = [{"x": np.full((n, 3), n)} for n in (1, 2)]
    parts = batching.split(plan, requests, "y", batching.join(plan, requests)["x"][:, :2])
    assert [part.tolist() for part in parts] == [[[1, 1]], [[2, 2], [2, 2]]]


def test_a_wrong_number_of_rows_is_noticed() -> None:
    plan = model_config.check(RAGGED, INPUTS, OUTPUTS)
    with pytest.raises(ValueError, match="elements"):
        batching.split(plan, [{"lengths": np.zeros((1, 2))}], "vector", np.zeros((3, 4)))
