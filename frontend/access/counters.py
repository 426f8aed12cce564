"""Request counters of this process, and what is counted, with the library ``limits``.

The library decides which request passes: its ``SlidingWindowCounterRateLimiter`` asks a storage, which it finds by its
scheme, for this minute's requests, and for last minute's by how much of that minute is still in the window. In Redis
(``sharing/``), a script computes the same for all limits of a request, because the library asks for one at a time.

We decide where the counts are (``storages``), that a request counts under all of its limits or under none, and what a
caller reads in its headers (``windows``).
"""

from collections.abc import Sequence
from typing import Protocol, cast

from limits import RateLimitItemPerMinute
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.storage import storage_from_string

from frontend.access.storages import MINUTE, MinuteStorage
from frontend.access.windows import Count


class Limit(RateLimitItemPerMinute):
    """At most ``amount`` requests per minute in the counter ``key``, which keeps its count if the amount changes.

    An ``amount`` of 0 lets nothing pass, so that it reads the counter without counting. ``least`` of it are left where
    frontends divide it.
    """

    __slots__ = ["key", "least"]

    def __init__(self, amount: int, key: str, least: int = 1) -> None:
        super().__init__(amount)
        self.key, self.least = key, least

    def key_for(self, *identifiers: bytes | str | float) -> str:
        return self.key


# Whether a request passed, and its counts.
Taken = tuple[bool, list[Count]]


class Counters(Protocol):
    """Count requests."""

    async def take(self, limits: Sequence[Limit], requests: int = 1) -> Taken:
        """Count ``requests`` under every limit if all have room; return whether they passed, and the counts."""


class MemoryCounters:
    """Counters of this process."""

    def __init__(self) -> None:
        self._storage = cast(MinuteStorage, storage_from_string("async+minutes://"))
        self._limiter = SlidingWindowCounterRateLimiter(self._storage)

    async def take(self, limits: Sequence[Limit], requests: int = 1) -> Taken:
        *others, last = limits
        # Nothing here waits, so that no other request comes between.
        open_ = all([await self._limiter.test(limit, cost=requests) for limit in others])
        passed = open_ and await self._limiter.hit(last, cost=requests)
        if passed:
            for limit in others:
                await self._limiter.hit(limit, cost=requests)
        windows = [await self._storage.get_sliding_window(limit.key, MINUTE) for limit in limits]
        return passed, [Count.of(limit.amount, window) for limit, window in zip(limits, windows, strict=True)]
