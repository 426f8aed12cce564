"""What work takes, as straight lines that were fitted to measurements of a Triton with two cores."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.run.fit import Fit

_FILE = Path(__file__).with_name("measured.json")
# How many times as fast as one core two were, in docs/benchmarks.md; a voice has one thread.
_TWO_CORES = {"m3_": 1.63, "whisper_": 1.72}
_MEMORY_A_CORE = 4 * 10**9


@dataclass(frozen=True)
class Line:
    """Seconds: ``fixed`` and so much for each call and unit of work."""

    fixed: float = 0.0
    per_call: float = 0.0
    per_unit: float = 0.0

    def seconds(self, units: float, calls: float = 1) -> float:
        return self.fixed + self.per_call * calls + self.per_unit * units

    def times(self, factor: float) -> "Line":
        """Each part of it longer by ``factor``."""
        return Line(*(part * factor for part in dataclasses.astuple(self)))


@dataclass(frozen=True)
class ModelFit:
    """An execution of a model alone on the machine takes ``line``, with ``cores`` processors busy on average.

    ``unit`` is what its work is counted in; ``max_batch``, ``delay`` (seconds) and ``instances`` are how Triton has it;
    ``stops`` says that it leaves off where its callers have gone. A Whisper takes windows of ``window_seconds``, and as
    long for shorter ones.
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
    """Seconds of a processor that a request takes besides its model: on the event loop, in a thread, in a process.

    ``wire`` is time that nobody works in: sockets and wake-ups.
    """

    loop: Line
    threads: Line
    workers: Line
    wire: float


@dataclass(frozen=True)
class Fits:
    """Of one machine with ``cores`` processors: of its models by name, and of requests by operation."""

    cores: int
    models: Mapping[str, ModelFit]
    requests: Mapping[str, RequestFit]

    @classmethod
    def load(cls, path: Path = _FILE) -> "Fits":
        """What was measured."""
        found = json.loads(path.read_text(encoding="utf-8"))
        models = {name: ModelFit(**_with_lines(values)) for name, values in found["models"].items()}
        requests = {name: RequestFit(**_with_lines(values)) for name, values in found["requests"].items()}
        return cls(found["cores"], models, requests)

    def fitted_to(self, cores: int) -> "Fits":
        """The same models on ``cores`` with 4 GB each, with the threads and instances that ``make run`` fits to them.

        By Amdahl's law ("Validity of the single processor approach to achieving large scale computing capabilities",
        1967) from what two cores were to one, where all that a product does counts. More than two were not measured.
        """
        if cores == self.cores:
            return self
        fit = Fit.of(cores, cores * _MEMORY_A_CORE)
        return Fits(cores, {name: _fitted(name, model, fit) for name, model in self.models.items()}, self.requests)


def _with_lines(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit is made of, each part that has parts itself as a line."""
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
