"""Chooses the connection to parse next, so that parsing never blocks the event loop."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

# Most seconds of parsing per iteration of the event loop, over all connections.
_PARSE_SECONDS = 0.002


class ParseQueue:
    """Connections with bytes to parse. They take turns, for a short time per iteration of the event loop.

    Connections that resume a request wait for those that begin one, so that short requests pass long ones (a feedback
    queue). One of them is parsed per iteration in any case, so that a flood of short requests stops no long one.
    """

    def __init__(self) -> None:
        self._beginning: deque[Callable[[], None]] = deque()
        self._resuming: deque[Callable[[], None]] = deque()
        self._left = _PARSE_SECONDS
        self._is_due = False

    def begin(self, parse: Callable[[], None]) -> None:
        """Parse now if time is left and no other connection begins; otherwise in another iteration."""
        if self._beginning or self._left <= 0:
            self._beginning.append(parse)
            self._schedule()
            return
        try:
            self._run(parse)
        finally:
            self._schedule()

    def resume(self, parse: Callable[[], None]) -> None:
        """Parse in another iteration, after the connections that begin."""
        self._resuming.append(parse)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._run_slice)

    def _run_slice(self) -> None:
        self._left, self._is_due = _PARSE_SECONDS, False
        try:
            while self._left > 0 and self._beginning:
                self._run(self._beginning.popleft())
            if self._resuming:
                self._run(self._resuming.popleft())
            while self._left > 0 and self._resuming:
                self._run(self._resuming.popleft())
        finally:
            if self._beginning or self._resuming:
                self._schedule()

    def _run(self, parse: Callable[[], None]) -> None:
        began = time.perf_counter()
        try:
            parse()
        finally:
            self._left -= time.perf_counter() - began
