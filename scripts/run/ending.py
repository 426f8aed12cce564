"""The signals that ask for the end: of a terminal, of a service's manager, of a terminal that closes."""

import signal
from collections.abc import Callable, Sequence
from types import FrameType

# Exit status of a shell for a command that SIGINT ended.
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ending:
    """The first of ``signals`` raises ``KeyboardInterrupt``; each later one calls ``again`` alone, and so does each
    after ``begins``: none interrupts the cleaning up.
    """

    def __init__(self, again: Callable[[], None], signals: Sequence[signal.Signals] = SIGNALS) -> None:
        self._again, self._signals = again, signals
        self._handle(self._first)

    def begins(self) -> None:
        """The end came by itself."""
        self._handle(self._later)

    def _first(self, number: int, frame: FrameType | None) -> None:
        self.begins()
        raise KeyboardInterrupt

    def _later(self, number: int, frame: FrameType | None) -> None:
        self._again()

    def _handle(self, handler: Callable[[int, FrameType | None], None]) -> None:
        for number in self._signals:
            signal.signal(number, handler)
