"""Measurements of a request, for its log line and spans."""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field

from frontend.observe.tracing import OFF, Tracer


class Stopwatch:
    """Measures the seconds in which at least one of several parallel activities runs."""

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
        """Seconds so far, including a running activity."""
        return self._seconds + (time.monotonic() - self._began if self._inside else 0.0)


@dataclass
class Record:
    """Facts about one request.

    ``queue`` runs while a call waits, ``backend`` while one is at a Triton or upstream. ``model`` is as the caller
    named it; ``quantity`` is the work in the priced unit. ``refused_for`` is the reason of a refusal that is not the
    caller's mistake (``ApiError.reason``). ``tracer`` creates its spans.
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
    """Begin the record of the running task and of the tasks that it starts."""
    record = Record(tracer)
    _current.set(record)
    return record


def current() -> Record:
    """The current request's record; outside of requests, an unused one."""
    return _current.get(None) or Record()
