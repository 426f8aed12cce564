"""Signals that end a command: from a terminal, a service manager, or a terminal that closes."""

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
