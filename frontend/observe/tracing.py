"""Spans of requests: how they are made."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

Attributes = Mapping[str, Any]

_NOTHING = nullcontext("")


class Tracer:
    """Makes spans, each a child of the one that the running task is in; this one makes none, ``OtlpTracer`` does."""

    def request(self, name: str, traceparent: str) -> AbstractContextManager[str]:
        """The span of a request, within the trace that its caller named (W3C Trace Context); gives the trace's id."""
        return _NOTHING

    def span(self, name: str) -> AbstractContextManager[object]:
        """A part of what the running task does."""
        return _NOTHING

    def call(self, name: str, attributes: Attributes) -> AbstractContextManager[object]:
        """The same, where another server does it."""
        return _NOTHING

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        """What the span that the running task is in came to."""

    def outgoing(self) -> dict[str, str]:
        """The headers by which whoever is called knows that span; none where its trace is not kept."""
        return {}

    def close(self) -> None:
        """Send what is left, for a moment; in a thread."""


OFF = Tracer()
