"""What an exported text model is held to."""

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.text_checks import Ids, close, company, disorder, exact

TEXTS = [np.array(ids, np.int32) for ids in ([1, 2], [1, 5, 2], [1, 7, 9, 2], [3])]


def _vector(text: NDArray[np.int32]) -> NDArray[np.float32]:
    angle = float(text.sum())
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


def _vectors(texts: Ids) -> NDArray[np.float32]:
    return np.stack([_vector(text) for text in texts])


def test_the_same_vectors_pass_every_check() -> None:
    same = [company("m", _vectors, TEXTS), exact("m", _vectors, TEXTS, _vector)]
    assert all(check.passed for check in [*same, *close("m", _vectors, TEXTS, _vector)])


def test_rows_that_depend_on_their_company_fail() -> None:
    assert not company("m", lambda texts: _vectors(texts) * len(texts), TEXTS).passed


def test_a_vector_that_is_a_little_off_is_not_exact() -> None:
    assert not exact("m", lambda texts: _vectors(texts) + np.float32(1e-4), TEXTS, _vector).passed


def test_int8_vectors_that_turn_too_far_fail() -> None:
    turned = [check.passed for check in close("m", lambda texts: _vectors(texts)[:, ::-1], TEXTS, _vector)]
    assert not turned[0]


def test_int8_scores_in_another_order_fail() -> None:
    def opposite(texts: Ids) -> NDArray[np.float32]:
        return np.array([0.5 + 1e-4 * text.sum() for text in texts], np.float32)

    score, order = close("m", opposite, TEXTS, lambda text: np.array(0.5 - 1e-4 * text.sum(), np.float32))
    assert score.passed
    assert not order.passed


def test_disorder_is_the_share_of_pairs_that_swap() -> None:
    scores = np.array([4, 3, 2, 1], np.float32)
    assert disorder(scores, np.array([4, 3, 1, 2], np.float32)) == 1 / 6
    assert disorder(scores, scores[::-1]) == 1
