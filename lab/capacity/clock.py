"""An event loop whose time jumps to its next timer: hours of the product's own asyncio code pass in seconds."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class StalledError(RuntimeError):
    """Something is awaited that no timer will bring about."""


class _Nothing:
    """In the place of a selector: there are no files, so that waiting is the passing of time. ``now`` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise StalledError("nothing is left to happen")
        self.now += timeout
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Begins at 0 s. It opens no file and asks no clock, so that what runs on it is the same each time."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Nothing()

    def time(self) -> float:
        return self._selector.now

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody waits in a selector that would have to be woken."""


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """What ``main`` comes to on a loop of its own; tasks that it leaves are cancelled."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
