"""Sides in turn, round after round, and how many times as fast as each the product was."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from scripts.benchmark.common import output
from scripts.benchmark.common.summary import Spread
from scripts.benchmark.common.vectors import apart
from scripts.benchmark.peers.sides import Case, Side, WorkerSide

PRODUCT = "Quartet"


@dataclass(frozen=True)
class Row:
    """One side: the median of what it did in a second, and how many times as fast each of the product's sides was."""

    case: str
    side: str
    rate: float
    unit: str
    ratios: dict[str, Spread]
    seconds: list[float]
    error: float | None


def compare(case: Case, sides: Mapping[str, Side], runs: int, folder: Path) -> list[Row]:
    """Every side once to warm up, then ``runs`` rounds with the sides in turn; answers are kept in ``folder``."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    found = errors(sides, case.trained, folder)
    for turn in tqdm(range(runs + 1), desc=case.name, unit="round"):
        for name, side in sides.items():
            took = side.run()
            if turn:
                seconds[name].append(took)
    return rows(case, seconds, found)


def errors(sides: Mapping[str, Side], trained: str, folder: Path) -> dict[str, float]:
    """The largest 1 - cosine between vectors of the side that is called ``trained`` and those of each other worker."""
    workers = {name: side for name, side in sides.items() if isinstance(side, WorkerSide)}
    if trained not in workers:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    answers = {name: side.answer(folder / "answer.npy") for name, side in workers.items()}
    return {name: apart(its, answers[trained]) for name, its in answers.items() if its.ndim == 2}


def rows(case: Case, seconds: Mapping[str, list[float]], lost: Mapping[str, float]) -> list[Row]:
    """What the rounds of a case come to, one side a row."""
    found = []
    for name, its in seconds.items():
        products = (side for side in seconds if side.startswith(PRODUCT))
        ratios = {product: Spread.of_ratios(its, seconds[product]) for product in products}
        found.append(Row(case.name, name, case.units / statistics.median(its), case.unit, ratios, its, lost.get(name)))
    return found


def table(found: Sequence[Row]) -> str:
    """A Markdown table a case, one side a line."""
    lines: list[str] = []
    for case in dict.fromkeys(row.case for row in found):
        its = [row for row in found if row.case == case]
        products = list(its[0].ratios)
        heads = (f"{product} is so many times as fast" for product in products)
        judged = any(row.error is not None for row in its)
        lines += ["", output.head((case, f"{its[0].unit} a second", *heads, *["largest 1 - cosine"] * judged))]
        for row in its:
            ratios = (f"{its:.2f}" for its in row.ratios.values())
            error = "" if row.error is None else f"{row.error:.1e}"
            lines.append(output.line((row.side, f"{row.rate:.1f}", *ratios, *[error] * judged)))
    return "\n".join(lines[1:])


def write(folder: Path, found: Sequence[Row]) -> None:
    """``peers.json``, ``peers.md`` and ``peers.png`` in ``folder``; nothing is drawn without the product beside it."""
    output.write(folder / "peers", table(found), {"rows": [asdict(row) for row in found]})
    _plot(folder / "peers.png", [row for row in found if row.ratios])


def _plot(path: Path, found: Sequence[Row]) -> None:
    with output.plot(path, 1 + 0.35 * len(found)) as axes:
        names = [f"{row.case}: {row.side}" for row in found]
        first = [next(iter(row.ratios.values())) for row in found]
        errors = [[its.median - its.least for its in first], [its.most - its.median for its in first]]
        axes.barh(names, [its.median for its in first], xerr=errors)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.set(xlabel="the product is so many times as fast")
