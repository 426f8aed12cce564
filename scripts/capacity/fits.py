"""What work takes, as straight lines that were fitted to measurements, and the machine that these were made on."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class Line:
    """Seconds: ``fixed`` and so much for each call and unit of work, and for the work of the longest call: steps that
    all calls of a batch take together.
    """

    fixed: float = 0.0
    per_call: float = 0.0
    per_unit: float = 0.0
    per_longest: float = 0.0

    def seconds(self, units: float, calls: float = 1, longest: float = 0.0) -> float:
        return self.fixed + self.per_call * calls + self.per_unit * units + self.per_longest * longest

    def times(self, factor: float) -> "Line":
        """Each part of it longer by ``factor``."""
        return Line(*(part * factor for part in dataclasses.astuple(self)))


@dataclass(frozen=True)
class ModelFit:
    """An execution of a model alone on the machine takes ``line``, with ``cores`` processors busy on average.

    ``unit`` is what its work is counted in; ``max_batch``, ``delay`` (seconds) and ``instances`` are how Triton has it
    in the repository that was measured; ``stops`` says that it leaves off where its callers have gone. ``error`` is the
    mean of what the line is off by, as a part of what was measured. A Whisper takes windows of ``window_seconds``, and
    as long for shorter ones.
    """

    unit: str
    line: Line
    cores: float
    max_batch: int
    delay: float
    instances: int
    stops: bool = False
    error: float = 0.0
    window_seconds: float = 0.0


@dataclass(frozen=True)
class RequestFit:
    """Seconds of a processor that a request takes besides its model: on the event loop, in a thread, in a process, and
    at the client where that is on the same machine. ``wire`` is time that nobody works in: sockets and wake-ups.
    """

    loop: Line
    threads: Line
    workers: Line
    client: Line
    wire: float


@dataclass(frozen=True)
class Fits:
    """Of one machine with ``cores`` processors: of its models by name, and of requests by operation.

    ``idle`` is how many processors the product keeps busy where there are no requests: probes and pulses.
    """

    machine: Mapping[str, Any]
    cores: int
    idle: float
    models: Mapping[str, ModelFit]
    requests: Mapping[str, RequestFit]

    @classmethod
    def load(cls, path: Path) -> "Fits":
        """Read what ``write`` wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        models = {name: ModelFit(**_with_lines(values)) for name, values in found["models"].items()}
        requests = {name: RequestFit(**_with_lines(values)) for name, values in found["requests"].items()}
        return cls(found["machine"], found["cores"], found["idle"], models, requests)

    def write(self, path: Path) -> None:
        """As JSON with numbers of four digits."""
        path.parent.mkdir(parents=True, exist_ok=True)
        exact = json.dumps(dataclasses.asdict(self))
        rounded = json.loads(exact, parse_float=lambda number: float(f"{float(number):.4g}"))
        path.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


def _with_lines(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit is made of, each part that has parts itself as a line."""
    return {name: Line(**value) if isinstance(value, dict) else value for name, value in values.items()}


def fit(points: Iterable[tuple[float, Sequence[float]]], *, relative: bool = True) -> list[float]:
    """Weights, none below 0, of the factors of points (seconds, factors) by least squares: of what is off as a part of
    the seconds, or of the seconds themselves.

    Of the sets of weights that may be other than 0 the best is found by trying all (Lawson and Hanson, "Solving least
    squares problems", 1974, has the way for many).
    """
    import numpy as np

    rows = [(seconds, list(factors)) for seconds, factors in points]
    seconds = np.array([row[0] for row in rows])
    weight = 1 / seconds if relative else np.ones(len(rows))
    factors, wanted = np.array([row[1] for row in rows]) * weight[:, None], seconds * weight
    count, best, weights = factors.shape[1], float("inf"), np.zeros(factors.shape[1])
    for mask in range(1, 1 << count):
        used = [place for place in range(count) if mask >> place & 1]
        found = np.linalg.lstsq(factors[:, used], wanted, rcond=None)[0]
        off = float(np.sum((factors[:, used] @ found - wanted) ** 2))
        if (found >= 0).all() and off < best:
            best, weights = off, np.zeros(count)
            weights[used] = found
    return list(map(float, weights))
