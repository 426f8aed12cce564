"""What the parts found, as lines, as a table, as JSON and as a plot."""

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scripts.benchmark.common import output
from scripts.export_models.parity import Check
from scripts.gpu_check.job import Row
from scripts.gpu_check.runner import Outcome

# The parts of each family, and what their rates count; the product's own side comes first.
_FAMILIES = {
    "texts": ("tokens", ("text", "padded", "torch_text")),
    "windows": ("seconds of audio", ("whisper", "torch_whisper")),
}
_GIB = 2**30
_HEAD = (
    "side",
    "runs of",
    "{} a second",
    "ms a run",
    "share of the peak",
    "GPU memory GiB",
    "the product is times as fast",
)


def peak(outcomes: Sequence[Outcome]) -> float | None:
    """Operations a second at best, where they were measured."""
    return next((outcome.facts.get("operations a second") for outcome in outcomes if outcome.part == "peak"), None)


def runs_of(row: Row) -> str:
    return f"{row.work}: {row.batch} x {row.length}"


def rate(row: Row) -> float | None:
    """Tokens, or seconds of audio, a second; None where the memory did not suffice."""
    return row.units / row.seconds.median if row.seconds else None


def share(row: Row, best: float | None) -> float | None:
    """Of the operations that the card could have done meanwhile, those that were needed."""
    return row.operations / row.seconds.median / best if row.seconds and best else None


def times(row: Row, products: Sequence[Row]) -> float | None:
    """How many times as fast the product is that does the same: its first side, which is what it is configured for."""
    first = next((rate(other) for other in products if runs_of(other) == runs_of(row)), None)
    mine = rate(row)
    return first / mine if first and mine else None


def line(found: tuple[str, Any] | Check | Row) -> str:
    """What a part has found, for a terminal."""
    if isinstance(found, Row):
        done = f"{rate(found):,.0f} a second" if found.seconds else "not enough GPU memory"
        return f"  {found.side}, {runs_of(found)}: {done}"
    if isinstance(found, Check):
        verdict = "FAILED" if found.failed else "ok"
        return f"  {found.model}, {found.what}: {found.difference:.1e}, at most {found.limit:.0e}: {verdict}"
    name, value = found
    return f"  {name}: {value:.3g}" if isinstance(value, float) else f"  {name}: {value}"


def tables(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table of each family, and one of what was skipped or failed."""
    best = peak(outcomes)
    lines: list[str] = []
    for unit, parts in _FAMILIES.values():
        if rows := _rows(outcomes, *parts):
            lines += ["", output.head([title.format(unit) for title in _HEAD])]
            lines += [output.line(_cells(row, _rows(outcomes, parts[0]), best)) for row in rows]
    if others := [outcome for outcome in outcomes if outcome.state != "ran"]:
        lines += ["", output.head(("part", "", "reason"))]
        lines += [output.line((outcome.part, outcome.state, outcome.reason)) for outcome in others]
    return "\n".join(lines[1:])


def _rows(outcomes: Sequence[Outcome], *parts: str) -> list[Row]:
    return [row for part in parts for outcome in outcomes if outcome.part == part for row in outcome.rows]


def _cells(row: Row, products: Sequence[Row], best: float | None) -> tuple[str, ...]:
    numbers = (
        (rate(row), "{:,.0f}"),
        (row.seconds and 1000 * row.seconds.median, "{:.2f}"),
        (share(row, best), "{:.1%}"),
        (row.memory and row.memory / _GIB, "{:.2f}"),
        (times(row, products), "{:.2f}"),
    )
    return (row.side, runs_of(row), *("-" if number is None else form.format(number) for number, form in numbers))


def write(folder: Path, outcomes: Sequence[Outcome], command: str) -> list[Path]:
    """``gpu-check.json`` and ``.md``, and a plot of each family where matplotlib is installed; gives what it wrote."""
    stem, best = folder / "gpu-check", peak(outcomes)
    numbers = {"command": command, "peak": best, "parts": [_numbers(outcome, best) for outcome in outcomes]}
    output.write(stem, tables(outcomes), numbers)
    written = [stem.with_suffix(".json"), stem.with_suffix(".md")]
    for name, (unit, parts) in _FAMILIES.items() if importlib.util.find_spec("matplotlib") else ():
        if rows := _rows(outcomes, *parts):
            written.append(folder / f"gpu-check-{name}.png")
            _plot(written[-1], rows, unit)
    return written


def _numbers(outcome: Outcome, best: float | None) -> dict[str, Any]:
    rows = [{**asdict(row), "rate": rate(row), "share of the peak": share(row, best)} for row in outcome.rows]
    return {**asdict(outcome), "rows": rows, "good": outcome.good}


def _plot(path: Path, rows: Sequence[Row], unit: str) -> None:
    kinds = list(dict.fromkeys(runs_of(row) for row in rows))
    with output.plot(path, 6) as axes:
        for side in dict.fromkeys(row.side for row in rows):
            its = [row for row in rows if row.side == side and row.seconds]
            axes.plot([kinds.index(runs_of(row)) for row in its], [rate(row) for row in its], "o-", label=side)
        axes.set_xticks(range(len(kinds)), kinds, rotation=90, fontsize=7)
        axes.set(yscale="log", ylabel=f"{unit} a second")
        axes.grid(True, alpha=0.3)
        axes.legend()
