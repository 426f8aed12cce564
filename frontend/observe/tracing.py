"""The interface that creates spans."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

Attributes = Mapping[str, Any]

_NOTHING = nullcontext("")


class Tracer:
    """Creates spans as children of the running task's span. This class creates none; ``OtlpTracer`` does."""

    def request(self, name: str, traceparent: str) -> AbstractContextManager[str]:
        """The span of a request, in the trace that the caller sent (W3C Trace Context); yields the trace id."""
        return _NOTHING

    def span(self, name: str) -> AbstractContextManager[object]:
        """A span within the running task."""
        return _NOTHING

    def call(self, name: str, attributes: Attributes) -> AbstractContextManager[object]:
        """A span for a call to another server."""
        return _NOTHING

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        """Record the result on the current span."""

    def outgoing(self) -> dict[str, str]:
        """The headers that pass the span to a called server; empty if the trace is not sampled."""
        return {}

    def close(self) -> None:
        """Export the remaining spans for a short time; call it in a thread."""


OFF = Tracer()
