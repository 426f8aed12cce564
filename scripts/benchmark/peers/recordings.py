"""The product and its peers on recordings of people, by seconds, words heard wrong and times of words.

    python -m scripts.benchmark.peers --cases file-en,file-it --sides "Quartet|batched|GenAI"

Sides take turns. A peer that takes more than three times as long as the quickest peer in the first round is left out of
the others. ``build/peers/results/recordings-file-en.md`` has the table of a case, the ``.json`` also what was heard.
"""

import re
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from tqdm import tqdm

from scripts.benchmark.common import output
from scripts.benchmark.common.recorded import Recording, clips, long_recording
from scripts.benchmark.common.summary import Spread
from scripts.benchmark.common.word_errors import Errors, Heard, errors
from scripts.benchmark.peers.hearing import PRODUCT, Hearers, Hearing
from scripts.benchmark.peers.sides import Bench

CASES = ("clips-en", "clips-it", "file-en", "file-it", "file-fr")
_CALLERS = 8
_PATIENCE = 3.0
_HEAD = (
    "seconds",
    "rounds",
    "words wrong",
    "start of a prompt's first word, off by",
    "Quartet, as right, is times as fast",
)


@dataclass(frozen=True)
class Row:
    """A side: its seconds round by round, and what it heard wrong in the first."""

    case: str
    side: str
    seconds: list[float]
    errors: Errors
    heard: list[Heard]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def product(self) -> bool:
        return self.side.startswith(PRODUCT)


def compare(
    case: str, sides: Mapping[str, Hearing], recordings: Sequence[Recording], warming: Sequence[Recording], runs: int
) -> list[Row]:
    """Each side hears ``warming`` once, then all ``recordings`` in each of the rounds, in turn."""
    for side in sides.values():
        side.hear(warming)
    first = {name: side.hear(recordings) for name, side in tqdm(sides.items(), desc=f"{case}, first round")}
    seconds = {name: [took] for name, (took, _) in first.items()}
    quickest = min((took for name, (took, _) in first.items() if not name.startswith(PRODUCT)), default=0.0)
    patient = {
        name: side for name, side in sides.items() if name.startswith(PRODUCT) or first[name][0] <= _PATIENCE * quickest
    }
    for _ in tqdm(range(runs - 1), desc=f"{case}, more rounds"):
        for name, side in patient.items():
            seconds[name].append(side.hear(recordings)[0])
    return [Row(case, name, seconds[name], errors(recordings, heard), heard) for name, (_, heard) in first.items()]


def times_as_fast(row: Row, rows: Sequence[Row]) -> Spread | None:
    """What the product's quickest side with no more words wrong is to a peer within a round; None without one."""
    right = [its for its in rows if its.product and its.errors.wrong <= row.errors.wrong]
    if row.product or not right:
        return None
    best = min(right, key=lambda its: its.median)
    # A peer that is slow has fewer rounds.
    return Spread.of(its / ours for its, ours in zip(row.seconds, best.seconds, strict=False))


def table(rows: Sequence[Row]) -> str:
    """A Markdown table a case, one side a line."""
    lines: list[str] = []
    for case in dict.fromkeys(row.case for row in rows):
        its = [row for row in rows if row.case == case]
        lines += ["", output.head((case, *_HEAD))]
        for row in its:
            late = row.errors.start_error
            lines.append(
                output.line(
                    (
                        row.side,
                        f"{row.median:.1f}",
                        len(row.seconds),
                        f"{row.errors.rate:.2%}".replace("%", " %"),
                        "" if late is None else f"{late:.2f} s",
                        _ratio(row, its),
                    )
                )
            )
    return "\n".join(lines[1:])


def _ratio(row: Row, rows: Sequence[Row]) -> str:
    if row.product:
        return ""
    if len(row.seconds) < max(len(its.seconds) for its in rows):
        # Others' work in that round may have met the one and not the other.
        return "measured once"
    ratio = times_as_fast(row, rows)
    return "none is" if ratio is None else f"{ratio:.2f}"


def _measured(bench: Bench, case: str, sides: str, runs: int) -> list[Row]:
    kind, _, language = case.partition("-")
    recordings = [long_recording(language)] if kind == "file" else clips(language)
    hearers = Hearers(bench, language, 1 if kind == "file" else _CALLERS)
    with ExitStack() as stack:
        opened = {name: start(stack) for name, start in hearers.sides().items() if re.search(sides, name)}
        return compare(case, opened, recordings, clips(language, 2), runs)


def measure(bench: Bench, case: str, sides: str, runs: int) -> str:
    """The table of a case, with those of its sides that the expression is found in; all of it is written too."""
    rows = _measured(bench, case, sides, runs)
    output.write(bench.folder / "results" / f"recordings-{case}", table(rows), {"rows": [asdict(row) for row in rows]})
    return table(rows)
