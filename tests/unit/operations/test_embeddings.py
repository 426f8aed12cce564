from functools import partial

import numpy as np
import pytest

from frontend.http.rendering import render_json
from frontend.operations.embeddings.handler import _items, _pieces
from frontend.operations.embeddings.pipeline import _shortened
from frontend.operations.embeddings.protocol import EmbeddingRequest, render_openai


@pytest.mark.parametrize("width", [1, 1024, 4096])
async def test_vectors_of_any_width_are_the_same_in_pieces(width: int) -> None:
    vectors = np.arange(40 * width, dtype=np.float32).reshape(40, width)
    request = EmbeddingRequest("embed-m3", [])
    pieces = [piece async for piece in _pieces(vectors, partial(_items, render_openai, 7, request))]
    assert b"".join(pieces) == render_json(render_openai(vectors, 7, request))


@pytest.mark.parametrize("count", [1, 2, 32, 70])
async def test_each_of_any_number_of_vectors_is_cut_and_has_length_1(count: int) -> None:
    vectors = np.arange(1, 1 + 8 * count, dtype=np.float32).reshape(count, 8)
    short = await _shortened(vectors, 2)
    assert short.shape == (count, 2)
    assert np.linalg.norm(short, axis=1) == pytest.approx(np.ones(count))
    assert short[:, 1] / short[:, 0] == pytest.approx(vectors[:, 1] / vectors[:, 0])
    assert await _shortened(vectors, 0) is vectors


async def test_a_vector_of_zeros_stays_one() -> None:
    assert not (await _shortened(np.zeros((1, 8), np.float32), 2)).any()
