"""Sides in turn, round after round, and how many times as fast as each the product was."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from scripts.benchmark.peers.sides import Case
from scripts.benchmark.plots import plot

PRODUCT = "Quartet"


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as a side the product was: the median of the rounds, the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Row:
    """One side: the median of what it did in a second, and the ratios of each side that is the product's to it."""

    case: str
    side: str
    rate: float
    unit: str
    ratios: dict[str, Ratio]
    seconds: list[float]


def compare(case: Case, runs: int) -> list[Row]:
    """Every side once to warm up, then ``runs`` rounds with the sides in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in case.sides}
    for turn in tqdm(range(runs + 1), desc=case.name, unit="round"):
        for name, side in case.sides.items():
            took = side.run()
            if turn:
                seconds[name].append(took)
    return rows(case, seconds)


def rows(case: Case, seconds: Mapping[str, list[float]]) -> list[Row]:
    """Compare within each round, since the machine differs from one to the next."""
    found = []
    for name, its in seconds.items():
        ratios = {}
        for product in (side for side in seconds if side.startswith(PRODUCT)):
            each = [other / own for own, other in zip(seconds[product], its, strict=True)]
            ratios[product] = Ratio(statistics.median(each), min(each), max(each))
        found.append(Row(case.name, name, case.units / statistics.median(its), case.unit, ratios, its))
    return found


def table(found: Sequence[Row]) -> str:
    """A Markdown table a case, one side a line."""
    lines: list[str] = []
    for case in dict.fromkeys(row.case for row in found):
        its = [row for row in found if row.case == case]
        products = list(its[0].ratios)
        heads = " | ".join(f"{product} is so many times as fast" for product in products)
        lines += ["", f"| {case} | {its[0].unit} a second | {heads} |", "|---|---" + "|---" * len(products) + "|"]
        for row in its:
            cells = (f"{ratio.median:.2f} ({ratio.least:.2f} to {ratio.most:.2f})" for ratio in row.ratios.values())
            lines.append(f"| {row.side} | {row.rate:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines[1:])


def write(folder: Path, machine: dict[str, Any], found: Sequence[Row]) -> None:
    """``peers.json``, ``peers.md`` and ``peers.png`` in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"machine": machine, "rows": [asdict(row) for row in found]}
    (folder / "peers.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    (folder / "peers.md").write_text(table(found) + "\n", encoding="utf-8")
    _plot(folder / "peers.png", found)


def _plot(path: Path, found: Sequence[Row]) -> None:
    with plot(path, 1 + 0.35 * len(found)) as axes:
        names = [f"{row.case}: {row.side}" for row in found]
        first = [next(iter(row.ratios.values())) for row in found]
        errors = [[its.median - its.least for its in first], [its.most - its.median for its in first]]
        axes.barh(names, [its.median for its in first], xerr=errors)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.set(xlabel="the product is so many times as fast")
