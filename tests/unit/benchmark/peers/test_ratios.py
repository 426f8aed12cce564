"""The ratios that the comparison with peers reports."""

import json
from pathlib import Path

from scripts.benchmark.common.summary import Spread
from scripts.benchmark.peers import ratios
from scripts.benchmark.peers.sides import Case


class FixedSide:
    """Takes the times it was given, one a run."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = iter(seconds)

    def run(self) -> float:
        return next(self._seconds)


def _case() -> Case:
    sides = {"Quartet": FixedSide(9, 1, 2, 1), "peer": FixedSide(9, 3, 4, 8)}
    return Case("embeddings", "tokens", 100, dict(sides))


def test_the_first_round_only_warms_up() -> None:
    assert [row.seconds for row in ratios.compare(_case(), 3)] == [[1, 2, 1], [3, 4, 8]]


def test_ratios_compare_within_a_round() -> None:
    own, peer = ratios.compare(_case(), 3)
    assert own.ratios["Quartet"] == Spread(1, 1, 1)
    assert peer.ratios["Quartet"] == Spread(3, 2, 8)


def test_rates_are_of_the_median_round() -> None:
    assert [row.rate for row in ratios.compare(_case(), 3)] == [100, 25]


def test_results_are_written_as_json_table_and_plot(tmp_path: Path) -> None:
    ratios.write(tmp_path, ratios.compare(_case(), 3))
    assert json.loads((tmp_path / "peers.json").read_text())["rows"][1]["ratios"]["Quartet"]["median"] == 3
    assert "| peer | 25.0 | 3.00 (2.00 to 8.00) |" in (tmp_path / "peers.md").read_text()
    assert (tmp_path / "peers.png").stat().st_size > 1000
