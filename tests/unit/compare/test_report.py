"""What people read of a comparison."""

import numpy as np

from scripts.compare.measures import Scores, Vectors
from scripts.compare.report import Compared, table, verdict

TEXTS = ["a short one", "a text that is so long that nobody would read to its end on one line"]


def _vectors(lost: tuple[float, ...] = (0, 0), speeds: tuple[float, float] = (1000, 2000)) -> Compared:
    moved = np.array([[0.01, 0.02], [0.0, 0.03]], np.float32)
    change = Vectors(np.array([1e-5, 2e-4], np.float32), moved, np.array(lost, np.float32), 0.925)
    return Compared("m3_embedder", change, TEXTS, speeds)


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
