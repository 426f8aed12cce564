"""The ratios that the comparison with peers reports."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.benchmark.common.summary import Spread
from scripts.benchmark.peers import ratios
from scripts.benchmark.peers.sides import Case, WorkerSide


class FixedSide:
    """Takes the times it was given, one a run."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = iter(seconds)

    def run(self) -> float:
        return next(self._seconds)


def _rows() -> list[ratios.Row]:
    sides = {"Quartet": FixedSide(9, 1, 2, 1), "peer": FixedSide(9, 3, 4, 8)}
    return ratios.compare(Case("embeddings", "tokens", 100, {}), sides, 3, Path())


class Encoder(WorkerSide):
    """A worker with vectors of its own."""

    def __init__(self, *vectors: list[float]) -> None:
        self._vectors = np.array(vectors)

    def answer(self, file: Path) -> NDArray[np.float64]:
        return self._vectors


def test_workers_are_judged_by_the_vectors_of_the_model_as_it_was_trained_whatever_their_lengths(
    tmp_path: Path,
) -> None:
    sides = {"trained": Encoder([1, 0], [0, 1]), "exact": Encoder([3, 0], [0, 5]), "turned": Encoder([1, 0], [3, 4])}
    lost = ratios.errors({**sides, "Quartet": FixedSide()}, "trained", tmp_path)
    assert lost == pytest.approx({"trained": 0, "exact": 0, "turned": 0.2})


def test_nobody_is_judged_where_the_model_as_it_was_trained_is_not_there(tmp_path: Path) -> None:
    assert ratios.errors({"exact": Encoder([1, 0])}, "trained", tmp_path) == {}


def test_the_loss_of_each_side_stands_in_the_table_where_it_is_known() -> None:
    case = Case("embeddings", "tokens", 100, {})
    found = ratios.table(ratios.rows(case, {"Quartet": [1.0], "peer": [2.0]}, {"peer": 0.0123}))
    assert found.splitlines()[-1] == "| peer | 50.0 | 2.00 (2.00 to 2.00) | 1.2e-02 |"


def test_ratios_are_of_one_round_rates_of_the_median_and_the_first_round_only_warms_up() -> None:
    assert [(row.seconds, row.ratios["Quartet"], row.rate) for row in _rows()] == [
        ([1, 2, 1], Spread(1, 1, 1), 100),
        ([3, 4, 8], Spread(3, 2, 8), 25),
    ]


def test_results_are_written_as_json_table_and_plot(tmp_path: Path) -> None:
    ratios.write(tmp_path, _rows())
    assert json.loads((tmp_path / "peers.json").read_text())["rows"][1]["ratios"]["Quartet"]["median"] == 3
    assert "| peer | 25.0 | 3.00 (2.00 to 8.00) |" in (tmp_path / "peers.md").read_text()
    assert (tmp_path / "peers.png").stat().st_size > 1000


def test_results_of_peers_alone_are_written_too(tmp_path: Path) -> None:
    alone = ratios.compare(Case("embeddings", "tokens", 100, {}), {"peer": FixedSide(9, 3)}, 1, Path())
    ratios.write(tmp_path, alone)
    assert json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))["rows"][0]["ratios"] == {}
