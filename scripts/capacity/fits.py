"""Seconds per work as fitted lines, measured on a Triton with two cores."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.run.fit import Fit

_FILE = Path(__file__).with_name("measured.json")
# Speed-up of two cores over one, from docs/benchmarks.md. A voice has one thread.
_TWO_CORES = {"m3_": 1.63, "whisper_": 1.72}
_MEMORY_A_CORE = 4 * 10**9


@dataclass(frozen=True)
class Line:
    """Seconds: ``fixed``, plus ``per_call`` and ``per_unit`` of work."""

    fixed: float = 0.0
    per_call: float = 0.0
    per_unit: float = 0.0

    def seconds(self, units: float, calls: float = 1) -> float:
        return self.fixed + self.per_call * calls + self.per_unit * units

    def times(self, factor: float) -> "Line":
        """The line with each part multiplied by ``factor``."""
        return Line(*(part * factor for part in dataclasses.astuple(self)))


@dataclass(frozen=True)
class ModelFit:
    """An execution of a model alone on the machine takes ``line``, with ``cores`` processors busy on average.

    ``unit`` counts its work; ``max_batch``, ``delay`` (seconds) and ``instances`` are Triton's settings; ``stops``
    is whether it stops when its callers disconnect. Whisper's windows have ``window_seconds``; shorter ones take
    less, and count as whole.
    """

    unit: str
    line: Line
    cores: float
    max_batch: int
    delay: float
    instances: int
    stops: bool = False
    window_seconds: float = 0.0


@dataclass(frozen=True)
class RequestFit:
    """Processor seconds of a request apart from its model: on the event loop, in threads, in worker processes.

    ``wire`` is idle time: sockets and wake-ups.
    """

    loop: Line
    threads: Line
    workers: Line
    wire: float


@dataclass(frozen=True)
class Fits:
    """The fits of one machine with ``cores`` processors: of models by name, and of requests by operation."""

    cores: int
    models: Mapping[str, ModelFit]
    requests: Mapping[str, RequestFit]

    @classmethod
    def load(cls, path: Path = _FILE) -> "Fits":
        """Read the measured fits."""
        found = json.loads(path.read_text(encoding="utf-8"))
        models = {name: ModelFit(**_with_lines(values)) for name, values in found["models"].items()}
        requests = {name: RequestFit(**_with_lines(values)) for name, values in found["requests"].items()}
        return cls(found["cores"], models, requests)

    def fitted_to(self, cores: int) -> "Fits":
        """The same models on ``cores`` with 4 GB each, with the threads and instances that ``make run`` chooses.

        It extrapolates the speed-up of two cores by Amdahl's law ("Validity of the single processor approach to
        achieving large scale computing capabilities", 1967). More than two were not measured.
        """
        if cores == self.cores:
            return self
        fit = Fit.of(cores, cores * _MEMORY_A_CORE)
        return Fits(cores, {name: _fitted(name, model, fit) for name, model in self.models.items()}, self.requests)


def _with_lines(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a fit, with nested values as ``Line``."""
    return {name: Line(**value) if isinstance(value, dict) else value for name, value in values.items()}


def _fitted(name: str, model: ModelFit, fit: Fit) -> ModelFit:
    if name.startswith("piper_"):
        return dataclasses.replace(model, instances=fit.voices)
    (two,) = (times for prefix, times in _TWO_CORES.items() if name.startswith(prefix))
    serial = 2 / two - 1
    before, after = (serial + (1 - serial) / threads for threads in (model.cores, fit.threads))
    instances = fit.whispers if name.startswith("whisper_") else model.instances
    line = model.line.times(after / before)
    return dataclasses.replace(model, line=line, cores=float(fit.threads), instances=instances)
