"""Plots as SVG, which are the same for the same numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scripts.benchmark.common import output
from scripts.capacity.outcomes import counted, waits
from scripts.capacity.scenarios import Step
from scripts.capacity.simulation.callers import Outcome
from scripts.capacity.simulation.service import Happened

_HOUR, _MINUTE = 3600.0, 60.0
# Of one plot, in inches.
_HEIGHT = 2.4
_MOST_POINTS = 600


def day(path: Path, happened: Happened, hour: float) -> None:
    """The demand of each pool, and its Tritons, over the hours of a day."""
    pools = len(happened.seen)
    with output.plot(path, _HEIGHT * pools, pools) as drawn:
        rows = np.atleast_1d(drawn)
        for axes, (name, its) in zip(rows, happened.seen.items(), strict=True):
            its = its[:: max(1, len(its) // _MOST_POINTS)]
            hours = [hour + seen.at / _HOUR for seen in its]
            demand = [seen.demand for seen in its]
            axes.plot(hours, demand, color="tab:gray", linewidth=0.7, label="calls, waiting or running")
            axes.step(hours, [seen.ready for seen in its], color="tab:blue", where="post", label="Tritons")
            axes.set(ylabel=name)
            axes.grid(True, alpha=0.3)
        rows[0].legend(loc="upper left")
        rows[-1].set(xlabel="hour of the day")


def signals(path: Path, steps: Sequence[Step]) -> None:
    """The p95 of calls by the minute in which they came, one line a signal and start lag."""
    with output.plot(path, _HEIGHT) as axes:
        for step in steps:
            minutes: dict[int, list[Outcome]] = {}
            for _, outcome in counted(step.happened):
                if outcome.answered:
                    minutes.setdefault(int(outcome.arrived / _MINUTE), []).append(outcome)
            times = sorted(minutes)
            slow = [waits(minutes[time], 0.95)[0] for time in times]
            axes.plot(times, slow, "-" if step.signal == "demand" else "--", label=f"{step.signal}, {step.lag:g} s")
        axes.set(yscale="log", xlabel="minutes", ylabel="p95 of calls, seconds")
        axes.grid(True, alpha=0.3)
        axes.legend()
