"""Simulates a plan at its peak, as callers see it: python -m lab.capacity peak --users 1e6 --zones 3

``sizes`` simulates four numbers of users, for docs/capacity.md.
"""

import argparse
import logging
import time
from collections.abc import Iterable, Mapping, Sequence

from frontend.config.tables import LEVELS
from lab.capacity.callers import Outcome
from lab.capacity.service import Outcomes, peak
from scripts.benchmark.common.output import head, line
from scripts.capacity import report
from scripts.capacity.__main__ import add_arguments, choices_of, traffic_of
from scripts.capacity.fits import Fits
from scripts.capacity.sizing import Choices, Sizes, size
from scripts.capacity.traffic import OPERATIONS, Traffic

# From first to last, without bulk, whose callers do not wait.
_TIERS = tuple(sorted(LEVELS, key=LEVELS.__getitem__))[:-1]
# Calls of the first seconds are left out, because the batch size is not adapted yet.
_WARM_UP_SECONDS = 60.0
_CALLERS = ("calls of", "calls", "p50 s", "p95 s", "p99 s", "longest s", "given up", "tries refused")
# Users, and seconds of the peak that are simulated after the warm-up.
_FOUR_SIZES = {1e4: 600.0, 1e5: 300.0, 1e6: 60.0, 1e7: 15.0}
_SEEN = ("users", "simulated", *(f"{tier}: p95, p99 s" for tier in _TIERS), "tries refused", "given up", "took")


def waits(outcomes: Iterable[Outcome], *parts: float) -> list[float]:
    """Quantiles of the seconds of answered calls, one for each of ``parts``."""
    times = sorted(outcome.seconds for outcome in outcomes if outcome.answered)
    return [times[min(len(times) - 1, int(part * len(times)))] if times else float("nan") for part in parts]


def _by_tier(calls: Outcomes) -> dict[str, list[Outcome]]:
    return {tier: [outcome for arrival, outcome in calls if arrival.tier == at] for at, tier in enumerate(_TIERS, 1)}


def _simulated(sizes: Sizes, choices: Choices, seconds: float, seed: int) -> Outcomes:
    happened = peak(Fits.load(), sizes, choices, seconds + _WARM_UP_SECONDS, seed)
    return [(arrival, outcome) for arrival, outcome in happened if outcome.arrived >= _WARM_UP_SECONDS]


def _table(groups: Mapping[str, Sequence[Outcome]]) -> str:
    rows = []
    for name, outcomes in groups.items():
        times = (f"{seconds:.2f}" for seconds in waits(outcomes, 0.5, 0.95, 0.99, 1.0))
        given_up = sum(not outcome.answered for outcome in outcomes)
        refused = sum(outcome.refused for outcome in outcomes)
        rows.append(line((name, len(outcomes), *times, given_up, refused)))
    return "\n".join([head(_CALLERS), *rows])


def _peak(given: argparse.Namespace) -> None:
    choices = choices_of(given)
    sizes = size(Fits.load(), traffic_of(given), choices)
    print(report.plan(sizes, choices.prices))
    calls = _simulated(sizes, choices, given.seconds, given.seed)
    by_operation = {
        name: [outcome for arrival, outcome in calls if arrival.request.operation == name] for name in OPERATIONS
    }
    print(
        f"\n{given.seconds:g} s of the peak, seed {given.seed}:\n\n{_table(by_operation)}\n\n{_table(_by_tier(calls))}"
    )


def _sizes(given: argparse.Namespace) -> None:
    choices = Choices(zones=3)
    print(head(_SEEN))
    for users, seconds in _FOUR_SIZES.items():
        began = time.process_time()
        calls = _simulated(size(Fits.load(), Traffic(users), choices), choices, seconds, given.seed)
        tiers = ("{:.2f}, {:.2f}".format(*waits(outcomes, 0.95, 0.99)) for outcomes in _by_tier(calls).values())
        refused = sum(outcome.refused for _, outcome in calls)
        given_up = sum(not outcome.answered for _, outcome in calls)
        took = f"{time.process_time() - began:.0f} s"
        simulated = f"{len(calls):,} calls in {seconds:g} s"
        print(line((f"{users:,.0f}", simulated, *tiers, refused, given_up, took)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.capacity", description="Simulate a plan at its peak.")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("peak", help="the plan of 'make capacity', simulated")
    add_arguments(one)
    one.add_argument("--seconds", type=float, default=300.0)
    one.set_defaults(do=_peak)
    four = commands.add_parser("sizes", help="four numbers of users, for docs/capacity.md")
    four.set_defaults(do=_sizes)
    for command in (one, four):
        command.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable()
    given.do(given)


if __name__ == "__main__":
    main()
