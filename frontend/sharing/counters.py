"""Request counters in Redis, with a fallback for its outages."""

from collections.abc import Sequence
from typing import Any, cast

from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.storage import storage_from_string

from frontend.access.counters import Limit, MemoryCounters, Taken
from frontend.access.windows import Count
from frontend.concurrency.background import Repeating
from frontend.errors import BadGateway
from frontend.observe.logs import Outage
from frontend.observe.metrics import LIMITER_DEGRADED
from frontend.sharing.calls import REDIS_AWAY
from frontend.sharing.frontends import SharedFrontends
from frontend.sharing.storage import RedisMinuteStorage

_BEAT_SECONDS = 1.0
# The counter of the heartbeat, without a real limit.
_BEAT = Limit(2**31, "frontends:beat")


class SharedCounters:
    """Counters in the Redis of ``frontends``. During an outage, each frontend counts its share of every limit.

    The first request of an outage loses at most 0.2 s. Later ones lose nothing, because only a heartbeat per second
    tries Redis. With ``refuse``, an outage refuses requests instead.
    """

    def __init__(self, frontends: SharedFrontends, *, refuse: bool) -> None:
        self._frontends, self._refuse = frontends, refuse
        pool = cast(Any, frontends.redis.connection_pool)
        storage = storage_from_string("async+redis+minutes://", connection_pool=pool)
        self._storage, self._limiter = cast(RedisMinuteStorage, storage), SlidingWindowCounterRateLimiter(storage)
        self._local = MemoryCounters()
        self._outage = Outage(
            "Redis is away: requests are counted in this process", "Redis is back: requests are counted together again"
        )
        self._beating = Repeating(_BEAT_SECONDS, self._beat)

    async def start(self) -> None:
        """Try Redis once, then every second."""
        await self._beat()
        self._beating.start()

    async def close(self) -> None:
        await self._beating.close()

    async def take(self, limits: Sequence[Limit], requests: int = 1) -> Taken:
        if not self._outage.away:
            try:
                counters = [(each.key, each.amount) for each in limits]
                passed, windows = await self._storage.acquire_together(counters, requests)
            except REDIS_AWAY as error:
                self._note(error)
            else:
                return passed, [Count.of(each.amount, window) for each, window in zip(limits, windows, strict=True)]
        # Reading the limits works during an outage too.
        if self._refuse and any(limit.amount for limit in limits):
            raise BadGateway("requests cannot be counted for the moment, retry with backoff")
        return await self._local.take([self._share(limit) for limit in limits], requests)

    def _share(self, limit: Limit) -> Limit:
        return Limit(min(limit.amount, max(limit.least, limit.amount // self._frontends.count)), limit.key)

    async def _beat(self) -> None:
        try:
            await self._limiter.hit(_BEAT)
        except REDIS_AWAY as error:
            self._note(error)
        else:
            self._note(None)

    def _note(self, error: Exception | None) -> None:
        self._outage.note(error, frontends=self._frontends.count, refuse=self._refuse)
        LIMITER_DEGRADED.set(self._outage.away)
