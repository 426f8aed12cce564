"""What happened in a simulation, as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from scripts.benchmark.common.output import head, line
from scripts.capacity.requests import OPERATIONS
from scripts.capacity.scenarios import POOL, Step
from scripts.capacity.simulation.callers import Outcome
from scripts.capacity.simulation.service import Happened
from scripts.capacity.traffic import TIERS, Arrival

_CALLERS = ("calls of", "calls", "p50 s", "p95 s", "p99 s", "longest s", "given up", "tries refused", "tries failed")
_POOLS = ("pool", "Tritons on average", "least", "most", "demand on average", "most")
_SIGNALS = ("signal", "a Triton starts in", "p50 s", "p95 s", "p99 s", "given up", "Tritons on average", "most")
Calls = Sequence[tuple[Arrival, Outcome]]


def waits(its: Iterable[Outcome], *parts: float) -> list[float]:
    """For each part of the calls that were answered, seconds: the least that is no less than what that part took."""
    times = sorted(outcome.seconds for outcome in its if outcome.answered)
    return [times[min(len(times) - 1, int(part * len(times)))] if times else float("nan") for part in parts]


def counted(happened: Happened, after: float = 0.0) -> list[tuple[Arrival, Outcome]]:
    """The calls that came after so many seconds: what is measured before says how it began."""
    return [(arrival, outcome) for arrival, outcome in happened.outcomes if outcome.arrived >= after]


def by(
    calls: Iterable[tuple[Arrival, Outcome]], name: Callable[[Arrival], str], order: Sequence[str]
) -> Mapping[str, list[Outcome]]:
    """Outcomes by what ``name`` says of their calls."""
    found: dict[str, list[Outcome]] = {key: [] for key in order}
    for arrival, outcome in calls:
        found[name(arrival)].append(outcome)
    return found


def tier_of(arrival: Arrival) -> str:
    """The name of an arrival's tier."""
    return TIERS[arrival.tier - 1]


def callers(groups: Mapping[str, Sequence[Outcome]]) -> str:
    """A line for each group of calls."""
    return "\n".join([head(_CALLERS), *(_row(name, its) for name, its in groups.items() if its)])


def _row(name: str, its: Sequence[Outcome]) -> str:
    shown = (f"{seconds:.2f}" for seconds in waits(its, 0.5, 0.95, 0.99, 1.0))
    refused, failed = (sum(getattr(outcome, kind) for outcome in its) for kind in ("refused", "failed"))
    return line((name, len(its), *shown, sum(not outcome.answered for outcome in its), refused, failed))


def tables(calls: Calls) -> str:
    """By operation and by tier."""
    operations = by(calls, lambda arrival: arrival.request.operation, OPERATIONS)
    return f"{callers(operations)}\n\n{callers(by(calls, tier_of, TIERS))}"


def pools(happened: Happened) -> str:
    """Of each pool, Tritons that were ready and calls that waited or ran."""
    rows = []
    for name, its in happened.seen.items():
        ready, demand = [seen.ready for seen in its], [seen.demand for seen in its]
        means = (f"{sum(values) / len(its):.1f}" for values in (ready, demand))
        rows.append(line((name, next(means), min(ready), max(ready), next(means), max(demand))))
    return "\n".join([head(_POOLS), *rows])


def signals(steps: Sequence[Step]) -> str:
    """The waits of callers from the moment that the load grew."""
    rows = []
    for step in steps:
        calls = [outcome for _, outcome in counted(step.happened, step.settled)]
        shown = (f"{seconds:.1f}" for seconds in waits(calls, 0.5, 0.95, 0.99))
        ready = [seen.ready for seen in step.happened.seen[POOL] if seen.at < step.seconds]
        lost = sum(not outcome.answered for outcome in calls)
        mean = f"{sum(ready) / len(ready):.1f}"
        rows.append(line((step.signal, f"{step.lag:g} s", *shown, lost, mean, max(ready))))
    return "\n".join([head(_SIGNALS), *rows])
