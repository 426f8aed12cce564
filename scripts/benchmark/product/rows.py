"""The rows of a sweep, as measured and as a table."""

from dataclasses import dataclass
from typing import Any

from scripts.benchmark.common import output
from scripts.benchmark.product.model_control import Knobs


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


_KNOBS = ("delay us", "max batch", "instances", "threads")
_GIVEN = ("p95 ms", "throughput/s", "mean batch", "in flight", "at most", "batch work", "batch fill", "holds")
HEAD = output.head((*_KNOBS, *_GIVEN))


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
