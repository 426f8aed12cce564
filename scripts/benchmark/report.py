"""Samples to numbers, and numbers to JSON, a table and a plot."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmark.load import Sample
from scripts.benchmark.plots import plot

_PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Result:
    """One run. ``latency`` has percentiles in seconds of the calls that succeeded; ``triton`` is what it counted."""

    operation: str
    shape: str
    calls: int
    seconds: float
    calls_a_second: float
    units_a_second: float
    unit: str
    latency: dict[str, float]
    errors: dict[str, int]
    triton: dict[str, dict[str, float]]


def result(
    operation: str, shape: str, unit: str, samples: Sequence[Sample], triton: dict[str, dict[str, float]]
) -> Result:
    """Throughput counts what succeeded, from the first call's due time to the last answer."""
    good = [sample for sample in samples if sample.status == 200]
    begun = min((sample.due for sample in samples), default=0.0)
    seconds = max((sample.due + sample.seconds for sample in samples), default=0.0) - begun
    times = np.array([sample.seconds for sample in good])
    latency = {f"p{p}": round(float(np.percentile(times, p)), 5) for p in _PERCENTILES} if good else {}
    if good:
        latency |= {"mean": round(float(times.mean()), 5), "max": round(float(times.max()), 5)}
    return Result(
        operation=operation,
        shape=shape,
        calls=len(samples),
        seconds=round(seconds, 3),
        calls_a_second=round(len(good) / seconds, 2) if seconds else 0.0,
        units_a_second=round(sum(sample.units for sample in good) / seconds, 1) if seconds else 0.0,
        unit=unit,
        latency=latency,
        errors={str(status): n for status, n in Counter(s.status for s in samples if s.status != 200).items()},
        triton=triton,
    )


def table(results: Sequence[Result]) -> str:
    """A Markdown table, one run a line."""
    lines = [
        "| operation | load | calls/s | units/s | p50 ms | p95 ms | p99 ms | errors | mean batch | queue ms |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in results:
        busiest: dict[str, float] = max(run.triton.values(), key=lambda model: model["requests"], default={})
        cells = [
            run.operation,
            run.shape,
            f"{run.calls_a_second:.1f}",
            f"{run.units_a_second:.0f} {run.unit}",
            *(f"{1000 * run.latency.get(name, float('nan')):.1f}" for name in ("p50", "p95", "p99")),
            str(sum(run.errors.values())),
            f"{busiest['mean_batch']:.2f}" if busiest else "-",
            f"{busiest['queue_ms']:.2f}" if busiest else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write(
    folder: Path, machine: dict[str, Any], results: Sequence[Result], samples: Sequence[Sequence[Sample]]
) -> None:
    """``results.json``, ``results.md`` and ``latency.png`` in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"machine": machine, "results": [asdict(run) for run in results]}
    (folder / "results.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    (folder / "results.md").write_text(table(results) + "\n", encoding="utf-8")
    _plot(folder / "latency.png", results, samples)


def _plot(path: Path, results: Sequence[Result], samples: Sequence[Sequence[Sample]]) -> None:
    """The share of calls answered within a time, one line a run."""
    with plot(path) as axes:
        for run, its in zip(results, samples, strict=True):
            times = np.sort([1000 * sample.seconds for sample in its if sample.status == 200])
            if len(times):
                axes.plot(times, np.arange(1, len(times) + 1) / len(times), label=f"{run.operation}, {run.shape}")
        axes.set(xscale="log", xlabel="milliseconds", ylabel="share of calls answered", ylim=(0, 1))
        axes.grid(True, which="both", alpha=0.3)
        axes.legend()
