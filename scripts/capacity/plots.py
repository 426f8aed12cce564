"""Plots as SVG, which are the same for the same numbers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.capacity.outcomes import counted, percentile
from scripts.capacity.scenarios import Step
from scripts.capacity.simulation.service import Happened

_HOUR, _MINUTE = 3600.0, 60.0


@contextmanager
def _drawn(path: Path, rows: int) -> Iterator[Any]:
    # Only those who want plots need it installed.
    import matplotlib as mpl

    mpl.use("Agg")
    # Neither a date nor random names: a plot that says the same is the same file.
    mpl.rcParams["svg.hashsalt"] = "quartet"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, 1, figsize=(9, 2.4 * rows), sharex=True, squeeze=False)
    try:
        yield [row[0] for row in axes]
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None})
    finally:
        pyplot.close(figure)


def day(path: Path, happened: Happened, hour: float) -> None:
    """The demand of each pool, and its Tritons, over the hours of a day."""
    names = list(dict.fromkeys(seen.pool for seen in happened.seen))
    with _drawn(path, len(names)) as rows:
        for axes, name in zip(rows, names, strict=True):
            its = _thinned([seen for seen in happened.seen if seen.pool == name])
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
    with _drawn(path, 1) as (axes,):
        for step in steps:
            calls = [outcome for _, outcome in counted(step.happened) if outcome.answered]
            minutes: dict[int, list[float]] = {}
            for outcome in calls:
                minutes.setdefault(int(outcome.arrived / _MINUTE), []).append(outcome.seconds)
            times = sorted(minutes)
            waits = [percentile(sorted(minutes[time]), 0.95) for time in times]
            axes.plot(times, waits, "-" if step.signal == "demand" else "--", label=f"{step.signal}, {step.lag:g} s")
        axes.set(yscale="log", xlabel="minutes", ylabel="p95 of calls, seconds")
        axes.grid(True, alpha=0.3)
        axes.legend()


def _thinned(values: Sequence[Any], most: int = 600) -> Sequence[Any]:
    return values[:: max(1, len(values) // most)]
