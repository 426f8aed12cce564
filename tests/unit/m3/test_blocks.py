"""Which texts Triton's model computes together."""

import numpy as np
import pytest

from scripts.export_models.triton_code import triton_module

blocks = triton_module("m3_embedder", "blocks").blocks


def _of(*lengths: int) -> list[list[int]]:
    return [block.tolist() for block in blocks(np.array(lengths, np.int32))]


@pytest.mark.parametrize("lengths", [(5,), (1,) * 2000, (8192, 3, 500, 500, 2, 769), tuple(range(1, 300))])
def test_every_text_is_in_one_block(lengths: tuple[int, ...]) -> None:
    assert sorted(sum(_of(*lengths), [])) == list(range(len(lengths)))


def test_of_no_texts_there_are_no_blocks() -> None:
    assert _of() == []


def test_texts_of_like_lengths_are_together_the_shortest_first() -> None:
    assert _of(310, 8, 300, 9, 7) == [[4, 1, 3], [2, 0]]


def test_a_block_has_as_many_texts_as_caches_hold() -> None:
    assert [len(block) for block in _of(*[100] * 20)] == [7, 7, 6]


def test_what_is_longer_than_a_block_is_one() -> None:
    assert _of(5000, 6000) == [[0], [1]]


def test_a_long_text_does_not_stretch_the_grid_of_many_short_ones() -> None:
    assert _of(250, *[8] * 30) == [list(range(1, 31)), [0]]
