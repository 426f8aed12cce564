"""The combinations of settings that are measured for a model."""

import argparse
import itertools
from collections.abc import Callable
from typing import Any

from scripts.benchmark.product.model_control import AWAY_SECONDS, Knobs

# The delay beside none, for a model that runs without.
_DELAY = 2000


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
