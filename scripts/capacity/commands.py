"""What each command does. What simulates or measures is imported by those that do: the formula needs none of it."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping

from scripts.capacity import report, sizing
from scripts.capacity.fits import FOLDER, Fits
from scripts.capacity.options import choices_of, path_of, traffic_of
from scripts.capacity.requests import OPERATIONS

# What comes in the first seconds meets pieces of work that have not grown yet.
_WARM_UP_SECONDS = 60.0


def _plan(given: argparse.Namespace) -> tuple[Fits, sizing.Sizes, sizing.Choices]:
    fits, choices = Fits.load(path_of(given.fits)), choices_of(given)
    sizes = sizing.size(fits, traffic_of(given), choices)
    print(report.plan(sizes, choices.prices))
    return fits, sizes, choices


def _peak(given: argparse.Namespace) -> None:
    from scripts.capacity import outcomes, scenarios

    fits, sizes, choices = _plan(given)
    happened = scenarios.peak(fits, sizes, choices, given.seconds + _WARM_UP_SECONDS, given.seed)
    print(f"\n{given.seconds:g} s around the peak, seed {given.seed}:\n")
    print(outcomes.tables(outcomes.counted(happened, _WARM_UP_SECONDS)))


def _zone(given: argparse.Namespace) -> None:
    from scripts.capacity import outcomes, scenarios
    from scripts.capacity.simulation.deployment import Fault

    fits, sizes, choices = _plan(given)
    at = _WARM_UP_SECONDS + given.seconds / 2
    lost = [Fault(at, zone=scenarios.ZONES[0])]
    happened = scenarios.peak(fits, sizes, choices, given.seconds + _WARM_UP_SECONDS, given.seed, lost)
    print(f"\n{given.seconds:g} s, in whose middle zone {lost[0].zone} falls silent; before that, and from then on:\n")
    calls = outcomes.counted(happened, _WARM_UP_SECONDS)
    print(outcomes.tables([pair for pair in calls if pair[1].arrived < at]))
    print("\n" + outcomes.tables([pair for pair in calls if pair[1].arrived >= at]))


def _day(given: argparse.Namespace) -> None:
    from scripts.capacity import outcomes, scenarios
    from scripts.capacity.simulation.autoscaler import Scaling

    fits, sizes, choices = _plan(given)
    happened = scenarios.day(fits, sizes, choices, Scaling(), given.hours, given.seed)
    print(f"\n{given.hours[0]:g} to {given.hours[1]:g} o'clock, scaled by demand:\n")
    print(outcomes.tables(outcomes.counted(happened)))
    print("\n" + outcomes.pools(happened))
    if given.plot:
        from scripts.capacity import plots

        plots.day(given.plot, happened, given.hours[0])


def _signals(given: argparse.Namespace) -> None:
    from scripts.capacity import outcomes, scenarios

    steps = [
        scenarios.step(signal, lag, given.seconds, seed=given.seed)
        for signal in ("demand", "ratio")
        for lag in (30.0, 180.0, 840.0)
    ]
    print(outcomes.signals(steps))
    if given.plot:
        from scripts.capacity import plots

        plots.signals(given.plot, steps)


def _measure(given: argparse.Namespace) -> None:
    from scripts.capacity.measuring.measure import Plan, measure

    plan = Plan(OPERATIONS, given.rounds, given.alone, given.loaded, seconds=given.seconds)
    fits, bench = measure(plan, given.repository)
    like = dict(pair.split("=") for pair in given.like)
    models = {name: fits.models[like.get(name, name)] for name in fits.models}
    dataclasses.replace(fits, models=models).write(FOLDER / f"{given.name}.json")
    if given.seconds:
        (FOLDER / f"{given.name}-bench.json").write_text(json.dumps(bench) + "\n", encoding="utf-8")


def _sizes_table(given: argparse.Namespace) -> None:
    from scripts.capacity import sizes

    sizes.simulate(Fits.load(path_of(given.fits)), _WARM_UP_SECONDS, given.seed)
    print(sizes.reference())


def _compare(given: argparse.Namespace) -> None:
    from scripts.capacity import compare

    path = path_of(given.fits)
    bench = json.loads(path.with_name(f"{path.stem}-bench.json").read_text(encoding="utf-8"))
    found = compare.pairs(Fits.load(path), bench)
    print(compare.table(found))
    print(f"\n{sum(pair.agrees for pair in found)} of {len(found)} numbers are within {compare.TOLERANCE:.0%}")


COMMANDS: Mapping[str, Callable[[argparse.Namespace], object]] = {
    "plan": _plan,
    "peak": _peak,
    "zone": _zone,
    "day": _day,
    "signals": _signals,
    "sizes": _sizes_table,
    "measure": _measure,
    "compare": _compare,
}
