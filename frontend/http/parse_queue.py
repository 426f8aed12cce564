"""Which connection is parsed next, so that parsing never holds the event loop."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

# Seconds per turn of the event loop that parse, over all connections.
_PARSE_SECONDS = 0.002


class ParseQueue:
    """Connections with bytes to parse. They take turns, for a short time per turn of the event loop.

    Those that go on with a request wait for those that begin, so that short requests pass long ones (a feedback queue).
    One of them is parsed per turn all the same, so that no flood of short requests stops a long one.
    """

    def __init__(self) -> None:
        self._beginning: deque[Callable[[], None]] = deque()
        self._going_on: deque[Callable[[], None]] = deque()
        self._left = _PARSE_SECONDS
        self._is_due = False

    def begin(self, parse: Callable[[], None]) -> None:
        """Parse now if time is left and no other connection begins; otherwise in another turn."""
        if self._beginning or self._left <= 0:
            self._beginning.append(parse)
            self._schedule()
            return
        try:
            self._run(parse)
        finally:
            self._schedule()

    def go_on(self, parse: Callable[[], None]) -> None:
        """Parse in another turn, after the connections that begin."""
        self._going_on.append(parse)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._left, self._is_due = _PARSE_SECONDS, False
        try:
            while self._left > 0 and self._beginning:
                self._run(self._beginning.popleft())
            if self._going_on:
                self._run(self._going_on.popleft())
            while self._left > 0 and self._going_on:
                self._run(self._going_on.popleft())
        finally:
            if self._beginning or self._going_on:
                self._schedule()

    def _run(self, parse: Callable[[], None]) -> None:
        began = time.perf_counter()
        try:
            parse()
        finally:
            self._left -= time.perf_counter() - began
