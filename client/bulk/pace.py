"""Limits the requests in flight.

Additive increase and multiplicative decrease (Chiu and Jain, 1989): one request more for each answered round, half as
many when the server is too busy.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_LONGEST_PAUSE_SECONDS = 60.0


class StoppedError(Exception):
    """The run stops; waiting requests do not begin."""


class Pace:
    """Limits the requests in flight to ``most`` for all users of it."""

    def __init__(self, most: int) -> None:
        self._most, self.limit = most, float(most)
        self._running = 0
        self._open_from = self._halved_at = 0.0
        self._freed, self.stopped = asyncio.Event(), asyncio.Event()
        # Answers so far. A refused request can tell from it whether others succeed.
        self.answered = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait until a request may be sent, and count it as in flight within the block. Yields the time of sending."""
        loop = asyncio.get_running_loop()
        while (closed := self._open_from - loop.time()) > 0 or self._running >= int(self.limit):
            if closed > 0:
                await self.sleep(closed)
            else:
                self._freed.clear()
                await self._freed.wait()
            self._check()
        self._running += 1
        try:
            yield loop.time()
        finally:
            self._running -= 1
            self._freed.set()

    def stop(self) -> None:
        """Stop sending. Waiting requests raise ``StoppedError``."""
        self.stopped.set()
        self._freed.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds`` or until stopped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)
        self._check()

    def _check(self) -> None:
        if self.stopped.is_set():
            self._freed.set()
            raise StoppedError

    def note_answer(self) -> None:
        """Count an answer and raise the limit."""
        self.answered += 1
        self.limit = min(self._most, self.limit + 1 / self.limit)

    def note_busy(self, sent: float) -> None:
        """Lower the limit after a refusal of a request, unless it was ``sent`` before the last change."""
        if sent >= self._halved_at:
            self.limit = max(1.0, self.limit / 2)
            self._halved_at = asyncio.get_running_loop().time()

    def close_for(self, seconds: float) -> None:
        """Send nothing for ``seconds``."""
        self._open_from = max(self._open_from, asyncio.get_running_loop().time() + seconds)


def pause(attempt: int, least: float) -> float:
    """Seconds before a retry: exponential with jitter, at least ``least``, which the server asks for."""
    return max(least, random.uniform(0.5, 1.0) * min(_LONGEST_PAUSE_SECONDS, math.ldexp(0.5, min(attempt, 10))))
