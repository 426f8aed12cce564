"""Summaries of calls."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scripts.benchmark.common.load import Sample

_PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Summary:
    """The calls of a run: ``latency`` has seconds of successful calls, ``errors`` counts the others by status."""

    calls: int
    seconds: float
    calls_a_second: float
    units_a_second: float
    latency: dict[str, float]
    errors: dict[str, int]

    @property
    def failed(self) -> int:
        return sum(self.errors.values())

    def percentile(self, name: str) -> float:
        """Seconds of ``p50``, ``p90``, ``p95`` or ``p99``; infinite if no call succeeded."""
        return self.latency.get(name, float("inf"))


def span(samples: Sequence[Sample]) -> float:
    """Seconds from the first call's due time to the last answer."""
    begun = min((sample.due for sample in samples), default=0.0)
    return max((sample.due + sample.seconds for sample in samples), default=0.0) - begun


def summary(samples: Sequence[Sample]) -> Summary:
    """Summarise calls. Throughput is that of successful calls over the span of all."""
    good, seconds = [sample for sample in samples if sample.status == 200], span(samples)
    times = np.array([sample.seconds for sample in good])
    latency = {f"p{p}": round(float(np.percentile(times, p)), 5) for p in _PERCENTILES} if good else {}
    if good:
        latency |= {"mean": round(float(times.mean()), 5), "max": round(float(times.max()), 5)}
    return Summary(
        calls=len(samples),
        seconds=round(seconds, 3),
        calls_a_second=round(len(good) / seconds, 2) if seconds else 0.0,
        units_a_second=round(sum(sample.units for sample in good) / seconds, 1) if seconds else 0.0,
        latency=latency,
        errors={str(status): n for status, n in Counter(s.status for s in samples if s.status != 200).items()},
    )
