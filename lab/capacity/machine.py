"""A machine whose processors are shared by all that runs on it, as an operating system shares them."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

# Timers come a rounding error early or late.
_MOMENT = 1e-9


class Machine:
    """Egalitarian processor sharing (Kleinrock, "Queueing systems II", 1976, 4.4) of ``cores`` processors.

    A job wants ``width`` processors for ``seconds``. Where all want more than there are, each has its part of what it
    wants, and takes longer in proportion. Made inside the event loop that uses it.
    """

    def __init__(self, cores: float) -> None:
        self.cores = cores
        self._loop = asyncio.get_running_loop()
        self._jobs: list[tuple[float, int, float, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._width = 0.0
        # What every job has had since the beginning, in seconds of work alone, and when that was reckoned.
        self._served, self._reckoned = 0.0, self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def rate(self) -> float:
        """How much of a second alone a job gets in a second."""
        return min(1.0, self.cores / self._width) if self._width > 0 else 1.0

    def start(self, seconds: float, width: float, done: Callable[[], None]) -> None:
        """``done`` is called when a job that takes so many seconds alone has ended."""
        width = min(width, self.cores)
        self._reckon()
        heapq.heappush(self._jobs, (self._served + seconds, next(self._numbers), width, done))
        self._width += width
        self._aim()

    async def run(self, seconds: float, width: float = 1.0) -> None:
        """Return when such a job has ended; it goes on where its caller has gone."""
        if seconds <= 0:
            return
        ended = self._loop.create_future()
        self.start(seconds, width, lambda: None if ended.done() else ended.set_result(None))
        await ended

    def _reckon(self) -> None:
        now = self._loop.time()
        self._served += (now - self._reckoned) * self.rate
        self._reckoned = now

    def _aim(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._jobs:
            left = max(0.0, self._jobs[0][0] - self._served) / self.rate
            self._timer = self._loop.call_later(left, self._end)

    def _end(self) -> None:
        self._timer = None
        self._reckon()
        ended = []
        while self._jobs and self._jobs[0][0] <= self._served + _MOMENT:
            _, _, width, done = heapq.heappop(self._jobs)
            self._width -= width
            ended.append(done)
        if not self._jobs:
            self._width = 0.0
        self._aim()
        for done in ended:
            done()
