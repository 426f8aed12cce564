"""What a request comes to on its way: for its log line and its spans, whoever finds it out."""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field

from frontend.observe.tracing import OFF, Tracer


class Stopwatch:
    """The time in which at least one of several, side by side, went on; in seconds."""

    def __init__(self) -> None:
        self._seconds = self._began = 0.0
        self._inside = 0

    def __enter__(self) -> "Stopwatch":
        if not self._inside:
            self._began = time.monotonic()
        self._inside += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._inside -= 1
        if not self._inside:
            self._seconds += time.monotonic() - self._began

    @property
    def seconds(self) -> float:
        """Until now, where something goes on."""
        return self._seconds + (time.monotonic() - self._began if self._inside else 0.0)


@dataclass
class Record:
    """Of one request: ``queue`` runs while a call of it waits, ``backend`` while one is at a Triton or upstream.

    ``model`` is what a caller names, and ``quantity`` its work in the unit that it is priced by. ``refused_for`` is the
    reason of a refusal that is no mistake of the request (``ApiError.reason``). ``tracer`` makes its spans.
    """

    tracer: Tracer = OFF
    trace_id: str = ""
    model: str = ""
    quantity: int | None = None
    refused_for: str = ""
    queue: Stopwatch = field(default_factory=Stopwatch)
    backend: Stopwatch = field(default_factory=Stopwatch)


_current: ContextVar[Record] = ContextVar("record")


def begin(tracer: Tracer = OFF) -> Record:
    """That of the request which the running task, and those that it starts, belong to."""
    record = Record(tracer)
    _current.set(record)
    return record


def current() -> Record:
    """That of the request under way; one of nobody's beside requests."""
    return _current.get(None) or Record()
