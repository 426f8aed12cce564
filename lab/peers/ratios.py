"""Runs sides in turn, round after round, and compares their rates and word errors."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tqdm import tqdm

from lab.peers.sides import Case, Side
from lab.peers.word_errors import Errors, Heard, errors
from scripts.benchmark.common import output

PRODUCT = "Quartet"
_HEARD = ("words wrong", "start of a prompt's first word, off by")


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum over several rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        numbers = list(values)
        return cls(statistics.median(numbers), min(numbers), max(numbers))

    @classmethod
    def of_ratios(cls, ones: Iterable[float], others: Iterable[float]) -> "Spread":
        """Ratios within each round, because the machine's speed differs between rounds."""
        return cls.of(one / other for one, other in zip(ones, others, strict=True))

    def __format__(self, form: str) -> str:
        return f"{self.median:{form}} ({self.least:{form}} to {self.most:{form}})"


@dataclass(frozen=True)
class Row:
    """The units per second of a side, the seconds of its rounds, and the word errors of the last round."""

    case: str
    side: str
    unit: str
    rate: float
    seconds: list[float]
    errors: Errors | None = None

    @property
    def product(self) -> bool:
        return self.side.startswith(PRODUCT)


def compare(case: Case, sides: Mapping[str, Side], runs: int) -> list[Row]:
    """Run every side once to warm up, then ``runs`` rounds with the sides in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    heard: dict[str, list[Heard]] = {}
    for turn in tqdm(range(runs + 1), desc=case.name, unit="round"):
        for name, side in sides.items():
            took, heard[name] = side.run()
            if turn:
                seconds[name].append(took)
    return [
        Row(
            case.name,
            name,
            case.unit,
            case.units / statistics.median(measured),
            measured,
            errors(case.recordings, heard[name]) if case.recordings else None,
        )
        for name, measured in seconds.items()
    ]


def times_as_fast(row: Row, rows: Sequence[Row]) -> dict[str, Spread]:
    """The speed-up of the product's sides over a side; for transcripts, of the fastest one with no more errors."""
    products = [each for each in rows if each.product]
    if row.errors is None:
        return {each.side: Spread.of_ratios(row.seconds, each.seconds) for each in products}
    right = [each for each in products if each.errors and each.errors.wrong <= row.errors.wrong]
    best = max(right, key=lambda each: each.rate, default=None)
    return {f"{PRODUCT}, as right,": Spread.of_ratios(row.seconds, best.seconds)} if best else {}


def table(found: Sequence[Row]) -> str:
    """A Markdown table per case, one line per side."""
    lines: list[str] = []
    for case in dict.fromkeys(row.case for row in found):
        rows = [row for row in found if row.case == case]
        ratios = [times_as_fast(row, rows) for row in rows]
        products = list(dict.fromkeys(name for ratio in ratios for name in ratio))
        heard = rows[0].errors is not None
        heads = (f"{product} is so many times as fast" for product in products)
        lines += ["", output.head((case, f"{rows[0].unit} a second", *_HEARD * heard, *heads))]
        for row, ratio in zip(rows, ratios, strict=True):
            compared = (f"{ratio[name]:.2f}" if name in ratio else "none is" for name in products)
            lines.append(output.line((row.side, f"{row.rate:.1f}", *_heard(row.errors), *compared)))
    return "\n".join(lines[1:])


def _heard(found: Errors | None) -> list[str]:
    if found is None:
        return []
    late = found.start_error
    return [f"{100 * found.rate:.2f} %", "" if late is None else f"{late:.2f} s"]
