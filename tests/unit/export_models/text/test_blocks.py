"""Texts in blocks, one after the other."""

from typing import Any

import numpy as np
import pytest

from scripts.export_models.text.checks import Run
from tests.unit.export_models.text.small import first_token, texts


@pytest.mark.parametrize("lengths", [(1500, 3, 600, 2), (511, 1, 512, 1, 513, 1), (1,) * 600], ids=str)
def test_texts_in_several_blocks_have_their_own_vectors_in_order(
    embedder: tuple[Any, Run], lengths: tuple[int, ...]
) -> None:
    model, run = embedder
    given = texts(lengths)
    wanted = np.stack([first_token(model, text) for text in given])
    assert np.abs(run(given) - wanted).max() < 1e-5
