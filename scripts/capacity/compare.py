"""What ``make bench`` measured beside what the simulation says of the same calls: is the simulation to be believed?"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from scripts.benchmark.common.output import head, line
from scripts.capacity.fits import Fits
from scripts.capacity.requests import Request
from scripts.capacity.simulation.bench import Load, Sample, simulate

_WARM_UP = 4
# By how much a simulated number may differ.
TOLERANCE = 0.15
_HEAD = ("operation", "load", "number", "real", "simulated", "ratio", "within 15 %")


@dataclass(frozen=True)
class Pair:
    """One number of a load: calls a second, or seconds."""

    operation: str
    shape: str
    number: str
    real: float
    simulated: float

    @property
    def ratio(self) -> float:
        return self.simulated / self.real

    @property
    def agrees(self) -> bool:
        return abs(self.ratio - 1) <= TOLERANCE

    def row(self) -> str:
        values = (f"{self.real:.3g}", f"{self.simulated:.3g}", f"{self.ratio:.2f}")
        return line((self.operation, self.shape, self.number, *values, "yes" if self.agrees else "no"))


def pairs(fits: Fits, bench: Mapping[str, Any]) -> list[Pair]:
    """Of every load that was measured, in its order."""
    results = bench["results"]
    loads = [_load(bench, result) for result in results]
    found = simulate(fits, loads)
    return [pair for result, samples in zip(results, found, strict=True) for pair in _pairs(result, samples)]


def _load(bench: Mapping[str, Any], result: Mapping[str, Any]) -> Load:
    plan = bench["plan"]
    requests = [_request(values) for values in bench["requests"][result["operation"]]]
    sent = requests[: plan["burst"]] if result["shape"] == "burst" else requests
    return Load(
        result["shape"], sent, requests[:_WARM_UP], plan["callers"], plan["rate"], plan["seconds"], plan["seed"]
    )


def _request(values: Mapping[str, Any]) -> Request:
    return Request(**{**values, "parts": tuple(values["parts"]), "rest": tuple(values["rest"])})


def _pairs(result: Mapping[str, Any], samples: Sequence[Sample]) -> Iterator[Pair]:
    seconds = max(sample.due + sample.seconds for sample in samples) - min(sample.due for sample in samples)
    times = sorted(sample.seconds for sample in samples if sample.answered)
    # As NumPy's percentiles, which the benchmark has.
    parts = quantiles(times, n=100, method="inclusive")
    names = result["operation"], result["shape"]
    yield Pair(*names, "calls/s", result["calls_a_second"], len(times) / seconds)
    yield Pair(*names, "p50 s", result["latency"]["p50"], parts[49])
    yield Pair(*names, "p95 s", result["latency"]["p95"], parts[94])


def table(found: Sequence[Pair]) -> str:
    """Real beside simulated."""
    return "\n".join([head(_HEAD), *(pair.row() for pair in found)])


def load_bench(path: Path) -> dict[str, Any]:
    """What ``measure`` wrote."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
