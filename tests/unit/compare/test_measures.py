"""What is measured between two sides of vectors and scores, and what people read of it."""

import numpy as np
import pytest

from scripts.compare import measures
from scripts.compare.measures import Array, Scores, Vectors, given_up, kept, nearest, scores, vectors, worst
from scripts.compare.report import Compared, table, verdict


def _at(*degrees: float) -> Array:
    """Vectors of length one at these angles."""
    angles = np.radians(degrees)
    rows: Array = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return rows


TEXTS = _at(0, 10, 30, 65)


def test_the_nearest_come_first_and_no_text_is_its_own_neighbour() -> None:
    near = nearest(TEXTS, TEXTS, 2, own=True)
    assert near.places.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert near.similarities[0] == pytest.approx(np.cos(np.radians([10, 30])))


def test_a_query_that_is_no_text_may_have_any() -> None:
    assert nearest(_at(11, 55), TEXTS, 2, own=False).places.tolist() == [[1, 0], [3, 2]]


def test_many_queries_are_answered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nearest(TEXTS, TEXTS, 3, own=True)
    monkeypatch.setattr(measures, "_ROWS_AT_ONCE", 3)
    pieces = nearest(TEXTS, TEXTS, 3, own=True)
    assert pieces.places.tolist() == whole.places.tolist()
    assert np.array_equal(pieces.similarities, whole.similarities)


def _change(other: Array, count: int = 2) -> measures.Vectors:
    return vectors((TEXTS, TEXTS), (other, other), nearest(TEXTS, TEXTS, count, own=True), own=True)


def test_the_same_vectors_change_nothing() -> None:
    change = _change(TEXTS)
    assert change.turned.max() < 1e-6
    assert (kept(change.lost), change.all_kept, change.moved.max()) == (1, 1, 0)


def test_vectors_that_all_turn_alike_keep_their_neighbours() -> None:
    change = _change(_at(5, 15, 35, 70))
    assert change.turned == pytest.approx(1 - np.cos(np.radians(5)), abs=1e-6)
    assert (kept(change.lost), change.all_kept) == (1, 1)
    assert change.moved.max() < 1e-6


def test_a_replaced_neighbour_is_counted_with_its_loss() -> None:
    # The second text goes to the other side of the first, whose nearest is now the third.
    change = _change(_at(0, -40, 30, 65))
    assert kept(change.lost) == 0.5
    assert change.lost[0] == pytest.approx(np.cos(np.radians(10)) - np.cos(np.radians(30)), abs=1e-6)
    assert change.moved[0, 0] == pytest.approx(np.cos(np.radians(10)) - np.cos(np.radians(40)), abs=1e-6)


def test_neighbours_in_another_order_are_kept() -> None:
    change = _change(_at(0, 20, 10, 65))
    assert change.all_kept == 1
    assert kept(change.lost) < 1


def test_a_neighbour_as_near_in_the_place_of_another_is_kept() -> None:
    texts, other = _at(0, 10, -10), _at(0, 10, -9)
    near = nearest(texts, texts, 1, own=True)
    change = vectors((texts, texts), (other, other), near, own=True)
    assert near.places[0] != nearest(other, other, 1, own=True).places[0]
    assert (kept(change.lost), change.all_kept) == (1, 1)


def test_the_loss_is_that_of_changed_first_results() -> None:
    assert given_up(np.array([0, 1e-7, 0.2, 0.4], np.float32)) == pytest.approx(0.3)
    assert given_up(np.zeros(3, np.float32)) == 0


def test_scores_are_compared_query_by_query() -> None:
    exact = np.array([[0.9, 0.5, 0.1], [0.2, 0.7, 0.6]], np.float32)
    other = np.array([[0.8, 0.5, 0.1], [0.2, 0.6, 0.65]], np.float32)
    change = scores(exact, other)
    assert change.moved.max() == pytest.approx(0.1)
    assert change.lost == pytest.approx([0, 0.1])
    assert kept(change.lost) == 0.5
    assert change.order_kept == pytest.approx(5 / 6)


def test_documents_of_the_same_score_have_no_order_to_keep() -> None:
    exact = np.array([[0.5, 0.5]], np.float32)
    assert scores(exact, np.array([[0.4, 0.6]], np.float32)).order_kept == 1
    assert scores(exact, np.array([[0.6, 0.4]], np.float32)).order_kept == 1


def test_the_worst_has_the_largest_number_of_its_row() -> None:
    assert worst(np.array([0.1, 0.3, 0.2]), "abc") == "b"
    assert worst(np.array([[0.1, 0.4], [0.3, 0.3]]), "ab") == "a"


NAMES = ["a short one", "a text that is so long that nobody would read to its end on one line"]


def _vectors(lost: tuple[float, ...] = (0, 0), speeds: tuple[float, float] = (1000, 2000)) -> Compared:
    moved = np.array([[0.01, 0.02], [0.0, 0.03]], np.float32)
    change = Vectors(np.array([1e-5, 2e-4], np.float32), moved, np.array(lost, np.float32), 0.925)
    return Compared("m3_embedder", change, NAMES, speeds)


def _scores(lost: tuple[float, ...] = (0, 0)) -> Compared:
    change = Scores(np.array([[0.2, 0.1], [0.0, 0.1]], np.float32), np.array(lost, np.float32), 0.75)
    return Compared("m3_reranker", change, ["which?", "what?"], (1000, 3000))


def test_the_table_has_a_line_a_number_under_each_model() -> None:
    lines = table([_vectors((0, 0.5)), _scores()]).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "m3_embedder",
        "1 - cosine: median, 99th percentile, largest 1.0e-04 2.0e-04 2.0e-04",
        "the text that changes most a text that is so long that nobody would read to...",
        "nearest neighbour kept; what others lose 50.0% 0.5000",
        "2 nearest neighbours kept 92.5%",
        "change of their similarity: mean, largest 0.0150 0.0300",
        "tokens a second: fp32, int8 1,000 2,000",
        "m3_reranker",
        "change of a score: mean, largest 0.1000 0.2000",
        "the query whose scores change most which?",
        "first result kept; what others lose 100.0% 0.0000",
        "pairs of 2 results in the same order 75.0%",
        "tokens a second: fp32, int8 1,000 3,000",
    ]


def test_int8_that_keeps_first_results_is_advised() -> None:
    said = verdict([_vectors(), _scores()])
    assert said == "int8 keeps 100.0% or more of the first results and is 2.0 times as fast (PRECISION=int8)"


def test_int8_that_changes_first_results_is_not() -> None:
    assert verdict([_vectors(), _scores((0.25, 0))]) == (
        "int8 gives another first result in 50.0% of m3_reranker's queries, worth 0.2500 less, and is 2.0 times as "
        "fast: PRECISION=fp32 where these texts must be found exactly"
    )


def test_one_first_result_in_fifty_may_be_another() -> None:
    assert "PRECISION=int8" in verdict([_vectors((0.1, *[0] * 49))])
    assert "PRECISION=fp32" in verdict([_vectors((0.1, 0.1, *[0] * 97))])


def test_int8_that_is_no_faster_is_not_advised() -> None:
    said = verdict([_vectors(speeds=(1000, 1050)), _scores()])
    assert said == "int8 is 1.1 times as fast as fp32 on this machine: PRECISION=fp32 loses nothing"
