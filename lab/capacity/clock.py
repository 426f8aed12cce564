"""An event loop whose time jumps to the next timer, so that hours of asyncio code pass in seconds."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class StalledError(RuntimeError):
    """Something is awaited that no timer will complete."""


class _Nothing:
    """A selector without files: waiting only advances ``now`` (seconds)."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise StalledError("nothing is left to happen")
        self.now += timeout
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Starts at 0 s. It uses no file and no clock, so that runs are repeatable."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Nothing()

    def time(self) -> float:
        return self._selector.now

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: there are no events."""

    def _write_to_self(self) -> None:
        """Do nothing: the selector never waits."""


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run ``main`` on a new loop, and cancel its remaining tasks."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
