"""What to do after a sweep: the lines for the model's file, or another way if no row holds the target."""

import argparse
from pathlib import Path

from scripts.benchmark.product import config_file
from scripts.benchmark.product.model_control import Knobs
from scripts.benchmark.product.rows import Sweep, Tried
from scripts.run.model_configs import ConfigError
from scripts.run.state import REPOSITORY

# A row that is better by less may be so by chance.
_BETTER = 1.05


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
