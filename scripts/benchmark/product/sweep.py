"""A sweep of a model's settings: the combinations to measure, the rows of its table, and what to do after it."""

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmark.common import output
from scripts.benchmark.product import config_file
from scripts.benchmark.product.model_control import AWAY_SECONDS, Knobs
from scripts.run.model_configs import ConfigError
from scripts.run.state import REPOSITORY

# The delay beside none, for a model that runs without.
_DELAY = 2000
# A row that is better by less may be so by chance.
_BETTER = 1.05
_KNOBS = ("delay us", "max batch", "instances", "threads")
_GIVEN = ("p95 ms", "throughput/s", "mean batch", "in flight", "at most", "batch work", "batch fill", "holds")
HEAD = output.head((*_KNOBS, *_GIVEN))


# The combinations


def _delays(running: int) -> list[int]:
    return [0, running or _DELAY]


def _batches(running: int) -> list[int]:
    return [max(1, running // 2), running, 2 * running]


def _counts(running: int) -> list[int]:
    return [max(1, running // 2), running] if running > 1 else [1, 2]


def _chosen(given: list[int] | None, running: int | None, usual: Callable[[int], list[int]]) -> list[int | None]:
    """The given values, else those around the running one. A model that lacks the setting has None."""
    if running is None:
        return [None]
    return list(given or dict.fromkeys(usual(running)))


def combinations(config: dict[str, Any], arguments: argparse.Namespace) -> list[Knobs]:
    """What runs, and then all other combinations of the requested values, by default of values around it."""
    running = Knobs.of(config)
    values = itertools.product(
        _chosen(arguments.delays, running.max_queue_delay_us, _delays),
        _chosen(arguments.batches, running.max_batch_size, _batches),
        _chosen(arguments.instances, running.instances, _counts),
        _chosen(arguments.threads, running.threads, _counts),
    )
    return list(dict.fromkeys((running, *(Knobs(*each) for each in values))))  # type: ignore[arg-type]


def length(rows: int, seconds: float) -> str:
    """How long the rows take at least, before any was measured."""
    least = rows * (seconds + AWAY_SECONDS)
    return f"{rows} rows, each {seconds:g} s and the time to load the model: at least {in_minutes(least)}"


def in_minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


# The rows


@dataclass(frozen=True)
class Tried:
    """The result of one combination: ``p95`` in seconds, and throughput.

    From the frontend's metrics, or None without them: mean calls in flight, their bound, the work that an execution
    should have, and the share of it that executions had.
    """

    knobs: Knobs
    p95: float
    units_a_second: float
    unit: str
    mean_batch: float
    errors: int
    in_flight: float | None = None
    bound: float | None = None
    batch_work: float | None = None
    batch_fill: float | None = None

    def meets(self, p95: float) -> bool:
        return not self.errors and self.p95 <= p95


@dataclass(frozen=True)
class Sweep:
    """The configuration in Triton before, each row, and what ran and the best row once more, if they differ."""

    config: dict[str, Any]
    found: list[Tried]
    again: list[Tried]


def by_use(found: list[Tried], p95: float) -> list[Tried]:
    """Combinations that meet the target come first; each group is sorted by throughput."""
    return sorted(found, key=lambda tried: (not tried.meets(p95), -tried.units_a_second))


def row(tried: Tried, p95: float) -> str:
    """A line of the table."""
    numbers = (f"{1000 * tried.p95:.0f}", f"{tried.units_a_second:.0f} {tried.unit}", f"{tried.mean_batch:.2f}")
    seen = (_word(tried.in_flight, ".1f"), _word(tried.bound), _word(tried.batch_work), _word(tried.batch_fill, ".0%"))
    holds = f"no: {tried.errors} errors" if tried.errors else "yes" if tried.meets(p95) else "no"
    return output.line((*tried.knobs.words(), *numbers, *seen, holds))


def _word(number: float | None, form: str = ".0f") -> str:
    return "-" if number is None else format(number, form)


def table(found: list[Tried], p95: float) -> str:
    return "\n".join([HEAD, *(row(tried, p95) for tried in by_use(found, p95))])


# What to do


def give(swept: Sweep, arguments: argparse.Namespace, repository: Path = REPOSITORY) -> int:
    """Print what to do, and write it into the model's file if that was asked for. Return 1 if that was not possible."""
    if not any(tried.meets(arguments.p95) for tried in swept.found):
        print(_none_holds(swept.found, arguments))
        return int(arguments.apply)
    if not swept.again:
        print("What runs is the best row: nothing to change.")
        return 0
    before, after = swept.again[0], swept.again[-1]
    if before is after or not _is_better(before, after, arguments.p95):
        print("Measured once more in turn, no row is better than what runs by 5 %: nothing to change.")
        return 0
    path = config_file.file_of(repository, arguments.model, swept.config)
    print(_gain(before, after))
    try:
        changed = config_file.changes(path, Knobs.of(swept.config), after.knobs)
    except (ConfigError, OSError) as error:
        print(f"The best row is {after.knobs}. Its lines are not known: {error}.")
        return int(arguments.apply)
    if not arguments.apply:
        print(f"For {path}, or with --apply:", *config_file.lines(path, changed), sep="\n  ")
        return 0
    try:
        config_file.apply(path, changed)
    except (ConfigError, OSError) as error:
        print(f"Not written: {error}. For {path}:", *config_file.lines(path, changed), sep="\n  ")
        return 1
    print(f"written to {path}:", *config_file.lines(path, changed), sep="\n  ")
    print("The next start runs it: make run, or as docs/tuning.md says for compose and the chart.")
    return 0


def _is_better(before: Tried, after: Tried, p95: float) -> bool:
    return after.meets(p95) and (not before.meets(p95) or after.units_a_second >= _BETTER * before.units_a_second)


def _gain(before: Tried, after: Tried) -> str:
    return (
        f"Better than what runs, both measured once more: p95 {1000 * after.p95:.0f} ms instead of "
        f"{1000 * before.p95:.0f}, {after.units_a_second:.0f} {after.unit} a second instead of "
        f"{before.units_a_second:.0f}."
    )


def _none_holds(found: list[Tried], arguments: argparse.Namespace) -> str:
    if not found:
        return "No row could be loaded: the lines above have Triton's reasons."
    nearest = min(found, key=lambda tried: (tried.errors, tried.p95))
    if nearest.errors:
        return "No row holds the target, calls failed in each: see the key's limits and the frontend's log."
    fewer = max(1, int(arguments.callers * arguments.p95 / nearest.p95))
    return (
        f"No row holds {arguments.p95:g} s with {arguments.callers} callers; the nearest has {nearest.p95:.2f} s "
        f"({nearest.knobs}). Measure fewer callers a Triton (--callers {fewer}), allow more (--p95 "
        f"{1.1 * nearest.p95:.2g}), or add processors or another Triton (docs/tuning.md)."
    )
