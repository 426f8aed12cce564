"""What ``make bench`` measured beside what the simulation says of the same calls: is the simulation to be believed?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.benchmark.common.load import Load, Sample
from scripts.benchmark.common.output import head, line
from scripts.benchmark.common.summary import span, summary
from scripts.capacity.fits import Fits
from scripts.capacity.requests import Request
from scripts.capacity.simulation.bench import simulate

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
    return [pair for result, (samples, _) in zip(results, found, strict=True) for pair in _pairs(result, samples)]


def _load(bench: Mapping[str, Any], result: Mapping[str, Any]) -> Load[Request]:
    plan = bench["plan"]
    requests = [
        Request(**{**values, "parts": tuple(values["parts"]), "rest": tuple(values["rest"])})
        for values in bench["requests"][result["operation"]]
    ]
    sent = requests[: plan["burst"]] if result["shape"] == "burst" else requests
    return Load(result["shape"], sent, plan["callers"], plan["rate"], plan["seconds"], plan["seed"])


def _pairs(result: Mapping[str, Any], samples: Sequence[Sample]) -> Iterator[Pair]:
    names, simulated = (result["operation"], result["shape"]), summary(samples)
    yield Pair(*names, "calls/s", result["calls_a_second"], (simulated.calls - simulated.failed) / span(samples))
    for name in ("p50", "p95"):
        yield Pair(*names, f"{name} s", result["latency"][name], simulated.percentile(name))


def table(found: Sequence[Pair]) -> str:
    """Real beside simulated."""
    return "\n".join([head(_HEAD), *(pair.row() for pair in found)])
