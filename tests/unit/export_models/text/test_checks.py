"""The checks of an exported text model."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.export_models.text.checks import INT8, Ids, batch_invariant, close, disorder, exact

TEXTS = [np.array(ids, np.int32) for ids in ([1, 2], [1, 5, 2], [1, 7, 9, 2], [3])]


def _vector(text: NDArray[np.int32]) -> NDArray[np.float32]:
    angle = float(text.sum())
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


def _vectors(texts: Ids) -> NDArray[np.float32]:
    return np.stack([_vector(text) for text in texts])


WANTED = _vectors(TEXTS)


def test_the_same_vectors_pass_every_check() -> None:
    same = [batch_invariant("m", _vectors, TEXTS), exact("m", _vectors, TEXTS, WANTED)]
    assert all(check.passed for check in [*same, *close("m", INT8, _vectors, TEXTS, WANTED)])


def test_rows_that_depend_on_their_batch_fail() -> None:
    assert not batch_invariant("m", lambda texts: _vectors(texts) * len(texts), TEXTS).passed


def test_a_vector_that_is_a_little_off_is_not_exact() -> None:
    assert not exact("m", lambda texts: _vectors(texts) + np.float32(1e-4), TEXTS, WANTED).passed


def test_disorder_is_the_share_of_pairs_that_swap() -> None:
    scores = np.array([4, 3, 2, 1], np.float32)
    assert disorder(scores, np.array([4, 3, 1, 2], np.float32)) == 1 / 6
    assert disorder(scores, scores[::-1]) == 1


def _scores(change: float) -> tuple[bool, bool]:
    """Whether scores that lie so far from the original's pass, by size and by order."""
    wanted = np.array([0.1, 0.4, 0.6, 0.9], np.float32)
    loss, order = close("m", INT8, lambda texts: wanted + np.float32(change), TEXTS, wanted)
    return loss.passed, order.passed


@pytest.mark.parametrize(("change", "passes"), [(0.018, True), (0.027, False), (-0.018, True), (-0.027, False)])
def test_an_int8_score_may_be_a_fortieth_from_the_original(change: float, passes: bool) -> None:
    assert _scores(change) == (passes, True)


@pytest.mark.parametrize(("cosine", "passes"), [(0.9992, True), (0.9988, False)])
def test_the_cosine_of_an_int8_vector_may_be_a_thousandth_less(cosine: float, passes: bool) -> None:
    def turned(texts: Ids) -> NDArray[np.float32]:
        angles = [float(text.sum()) + np.arccos(cosine) for text in texts]
        return np.stack([np.array([np.cos(angle), np.sin(angle)], np.float32) for angle in angles])

    assert close("m", INT8, turned, TEXTS, WANTED)[0].passed is passes


@pytest.mark.parametrize(("swapped", "passes"), [(1, True), (3, False)])
def test_a_fiftieth_of_int8_pairs_may_be_in_another_order(swapped: int, passes: bool) -> None:
    wanted = np.linspace(0.1, 0.9, 15, dtype=np.float32)
    got = wanted.copy()
    for at in range(swapped):
        got[[2 * at, 2 * at + 1]] = got[[2 * at + 1, 2 * at]]
    texts = [np.array([number], np.int32) for number in range(15)]
    # 105 pairs; the scores themselves lie too far apart to pass.
    assert close("m", INT8, lambda _: got, texts, wanted)[1].passed is passes
