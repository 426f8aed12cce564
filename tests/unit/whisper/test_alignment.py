"""Where tokens are in time: by made-up attention, and beside the plain way to compute it."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.export_models.triton_code import recognizer_module

FRAMES = 100


alignment = recognizer_module("alignment")


def _head(begins: list[int], task: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Queries and keys of a head that finds the tokens of the text, and the end, where they begin."""
    keys = np.zeros((FRAMES, len(begins)), np.float32)
    for token, (begin, end) in enumerate(pairwise([*begins, FRAMES])):
        keys[begin:end, token] = 1
    queries = np.zeros((task - 1 + len(begins), len(begins)), np.float32)
    queries[task - 1 :] = 8 * np.eye(len(begins))
    return queries, keys


@pytest.mark.parametrize("task", [1, 4])
@pytest.mark.parametrize("begins", [[0, 30], [0, 10, 40, 55, 90], [0, 8, 16, 24, 92]])
def test_a_token_starts_where_the_heads_look_for_it(begins: list[int], task: int) -> None:
    queries, keys = _head(begins, task)
    assert alignment.token_starts(queries[None], keys[None], task).tolist() == begins


def test_the_heads_are_averaged() -> None:
    begins, others = [0, 10, 40, 55, 90], [0, 20, 30, 70, 80]
    (queries, keys), (_, other_keys) = _head(begins, 4), _head(others, 4)
    heads = np.stack([queries] * 3), np.stack([keys, keys, other_keys])
    assert alignment.token_starts(*heads, 4) == pytest.approx(begins, abs=1)


def test_very_large_attention_gives_no_infinities() -> None:
    begins = [0, 10, 40, 55, 90]
    queries, keys = _head(begins, 4)
    assert alignment.token_starts(queries[None] * 1e4, keys[None], 4).tolist() == begins


@pytest.mark.parametrize(("tokens", "frames"), [(4, 60), (30, 60), (30, 10), (4, 1)])
def test_tokens_start_in_order_within_the_window(tokens: int, frames: int) -> None:
    random = np.random.default_rng(0)
    queries, keys = (random.normal(size=(6, count, 64)).astype(np.float32) for count in (tokens, frames))
    starts = alignment.token_starts(queries, keys, 4)
    # One for each token behind the task, and for the end.
    assert len(starts) == tokens - 3
    assert starts.tolist() == sorted(starts)
    assert starts[0] == 0
    assert starts[-1] < frames
