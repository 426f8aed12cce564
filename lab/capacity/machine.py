"""A machine whose processors are shared by all jobs, as an operating system does."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

# Timers are early or late by a rounding error.
_MOMENT = 1e-9


class Machine:
    """Egalitarian processor sharing (Kleinrock, "Queueing systems II", 1976, 4.4) of ``cores`` processors.

    A job wants ``width`` processors for ``seconds``. If jobs together want more than there are, each takes longer in
    proportion. It must be made inside its event loop.
    """

    def __init__(self, cores: float) -> None:
        self.cores = cores
        self._loop = asyncio.get_running_loop()
        self._jobs: list[tuple[float, int, float, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._width = 0.0
        # Seconds of work alone that every job has received since the start, and when this was computed.
        self._served, self._reckoned = 0.0, self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def rate(self) -> float:
        """The speed of a job relative to running alone."""
        return min(1.0, self.cores / self._width) if self._width > 0 else 1.0

    def start(self, seconds: float, width: float, done: Callable[[], None]) -> None:
        """Start a job that takes ``seconds`` alone; ``done`` is called at its end."""
        width = min(width, self.cores)
        self._reckon()
        heapq.heappush(self._jobs, (self._served + seconds, next(self._numbers), width, done))
        self._width += width
        self._aim()

    async def run(self, seconds: float, width: float = 1.0) -> None:
        """Return when such a job has ended. A cancelled caller does not stop it."""
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
