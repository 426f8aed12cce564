"""Where tokens are in time: by made-up attention, and beside the plain way to compute it."""

from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.export_models.whisper.served import recognizer_module

FRAMES = 100


@pytest.fixture(scope="module")
def alignment() -> ModuleType:
    return recognizer_module("alignment")


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
def test_a_token_starts_where_the_heads_look_for_it(alignment: ModuleType, begins: list[int], task: int) -> None:
    queries, keys = _head(begins, task)
    assert alignment.token_starts(queries[None], keys[None], task).tolist() == begins


def test_heads_are_believed_on_average(alignment: ModuleType) -> None:
    begins, others = [0, 10, 40, 55, 90], [0, 20, 30, 70, 80]
    (queries, keys), (_, other_keys) = _head(begins, 4), _head(others, 4)
    heads = np.stack([queries] * 3), np.stack([keys, keys, other_keys])
    assert alignment.token_starts(*heads, 4) == pytest.approx(begins, abs=1)


def test_what_attends_very_strongly_gives_no_infinities(alignment: ModuleType) -> None:
    begins = [0, 10, 40, 55, 90]
    queries, keys = _head(begins, 4)
    assert alignment.token_starts(queries[None] * 1e4, keys[None], 4).tolist() == begins


@pytest.mark.parametrize(("tokens", "frames"), [(4, 60), (30, 60), (30, 10), (4, 1)])
def test_tokens_start_one_behind_the_other_within_the_window(alignment: ModuleType, tokens: int, frames: int) -> None:
    random = np.random.default_rng(0)
    queries, keys = (random.normal(size=(6, count, 64)).astype(np.float32) for count in (tokens, frames))
    starts = alignment.token_starts(queries, keys, 4)
    # One for each token behind the task, and for the end.
    assert len(starts) == tokens - 3
    assert starts.tolist() == sorted(starts)
    assert starts[0] == 0
    assert starts[-1] < frames


def _ways(rows: int, frames: int) -> Iterator[list[tuple[int, int]]]:
    """All ways from the first row and frame to these ones."""
    if rows == frames == 0:
        yield [(0, 0)]
    for row, frame in ((rows - 1, frames - 1), (rows - 1, frames), (rows, frames - 1)):
        if row >= 0 and frame >= 0:
            for way in _ways(row, frame):
                yield [*way, (rows, frames)]


@pytest.mark.parametrize("size", [(1, 1), (1, 6), (4, 1), (2, 5), (3, 3), (4, 6), (5, 3)])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_way_through_gains_more(alignment: ModuleType, size: tuple[int, int], seed: int) -> None:
    gain = np.random.default_rng(seed).normal(size=size).astype(np.float32)
    best = max(_ways(size[0] - 1, size[1] - 1), key=lambda way: sum(float(gain[cell]) for cell in way))
    entered = [min(frame for row, frame in best if row == its) for its in range(size[0])]
    assert alignment._way_through(gain).tolist() == entered


def _mirrored(frame: int, frames: int) -> int:
    """The frame that one before the first or behind the last looks into, to and fro where there are few."""
    while not 0 <= frame < frames:
        frame = 0 if frames == 1 else -frame if frame < 0 else 2 * (frames - 1) - frame
    return frame


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 7, 50])
def test_frames_are_smoothed_by_the_median_of_seven(alignment: ModuleType, frames: int) -> None:
    rows = np.random.default_rng(0).normal(size=(2, 3, frames)).astype(np.float32)
    around = [[_mirrored(frame + by, frames) for by in range(-3, 4)] for frame in range(frames)]
    assert np.array_equal(alignment._smoothed(rows), np.median(rows[..., around], axis=-1))
