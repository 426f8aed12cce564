"""Spans of requests: how they are made."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

Attributes = Mapping[str, Any]


class Tracer(Protocol):
    """Makes spans, each a child of the one that the running task is in."""

    def request(self, name: str, traceparent: str) -> AbstractContextManager[str]:
        """The span of a request, within the trace that its caller named (W3C Trace Context); gives the trace's id."""

    def span(self, name: str) -> AbstractContextManager[object]:
        """A part of what the running task does."""

    def call(self, name: str, attributes: Attributes) -> AbstractContextManager[object]:
        """The same, where another server does it."""

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        """What the span that the running task is in came to."""

    def outgoing(self) -> dict[str, str]:
        """The headers by which whoever is called knows that span; none where its trace is not kept."""

    def close(self) -> None:
        """Send what is left, for a moment; in a thread."""


class Off:
    """Makes none."""

    _nothing = nullcontext("")

    def request(self, name: str, traceparent: str) -> AbstractContextManager[str]:
        return self._nothing

    def span(self, name: str) -> AbstractContextManager[object]:
        return self._nothing

    def call(self, name: str, attributes: Attributes) -> AbstractContextManager[object]:
        return self._nothing

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        return

    def outgoing(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        return


OFF = Off()
