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


def _rows() -> list[ratios.Row]:
    sides = {"Quartet": FixedSide(9, 1, 2, 1), "peer": FixedSide(9, 3, 4, 8)}
    return ratios.compare(Case("embeddings", "tokens", 100, dict(sides)), 3)


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
