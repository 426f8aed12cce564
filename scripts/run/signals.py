"""Signals that end a command: from a terminal, a service manager, or a terminal that closes."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

# Exit status of a shell for a command that SIGINT ended.
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible(hurry: Callable[[], None], signals: Sequence[signal.Signals] = SIGNALS) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` at the first of ``signals``.

    Later signals, and all after the block, call ``hurry``: they do not interrupt the cleaning up.
    """

    def first(number: int, frame: FrameType | None) -> None:
        handle(later)
        raise KeyboardInterrupt

    def later(number: int, frame: FrameType | None) -> None:
        hurry()

    def handle(handler: Callable[[int, FrameType | None], None]) -> None:
        for number in signals:
            signal.signal(number, handler)

    handle(first)
    try:
        yield
    finally:
        handle(later)


def cancel_when_interrupted(hurry: Callable[[], None]) -> None:
    """Cancel the running task at the first of ``SIGNALS``. Later ones, until the event loop ends, call ``hurry``.

    An exception from a handler, as above, does not wake an event loop that has just decided to wait.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def first() -> None:
        handle(hurry)
        task.cancel()

    def handle(handler: Callable[[], None]) -> None:
        for number in SIGNALS:
            loop.add_signal_handler(number, handler)

    handle(first)
