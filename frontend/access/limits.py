"""Rate limits: requests per minute of a caller at an endpoint, with a fallback for Redis outages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.storage import storage_from_string

from frontend.access.caller import Caller
from frontend.access.counters import Limit, MemoryCounters, Taken
from frontend.access.storages import RedisMinuteStorage
from frontend.access.windows import Count
from frontend.concurrency.background import Repeating
from frontend.errors import BadGateway, RateLimited
from frontend.observe.logs import Outage
from frontend.observe.metrics import LIMITER_DEGRADED
from frontend.observe.stores import REDIS_AWAY
from frontend.peers.frontends import SharedFrontends

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

    async def take(self, limits: Sequence[Limit]) -> Taken:
        if not self._outage.away:
            try:
                passed, windows = await self._storage.acquire_together([(each.key, each.amount) for each in limits])
            except REDIS_AWAY as error:
                self._note(error)
            else:
                return passed, [Count.of(each.amount, window) for each, window in zip(limits, windows, strict=True)]
        # Reading the limits works during an outage too.
        if self._refuse and any(limit.amount for limit in limits):
            raise BadGateway("requests cannot be counted for the moment, retry with backoff")
        return await self._local.take([self._share(limit) for limit in limits])

    def _share(self, limit: Limit) -> Limit:
        return Limit(min(limit.amount, max(1, limit.amount // self._frontends.count)), limit.key)

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


Counters = MemoryCounters | SharedCounters


@dataclass(frozen=True)
class Limiter:
    """Applies rate limits; ``limits`` by name, ``tiers`` with the numbers that differ for a tier."""

    counters: Counters
    limits: Mapping[str, int]
    tiers: Mapping[str, Mapping[str, int]]

    async def take(self, caller: Caller, name: str) -> Mapping[str, str]:
        """Count a request and return its headers. Raises ``RateLimited`` (429) with the headers at a limit."""
        passed, counts = await self.counters.take(self._of(caller, name))
        if passed:
            return _headers(min(counts, key=lambda count: count.remaining))
        # In memory the counts are read afterwards, when none may be at its limit any more.
        reached = max(counts, key=lambda count: (not count.open, count.retry_after))
        message = f"rate limit exceeded ({reached.limit}/min)"
        raise RateLimited(message, headers={**_headers(reached), "Retry-After": str(reached.retry_after)})

    async def usage(self, caller: Caller) -> dict[str, Count]:
        """The use of each of the caller's limits; ``organisation`` is the limit that its organisation's keys share."""
        limits = {name: self._of(caller, name)[0] for name in self.limits}
        if caller.org_limit is not None:
            limits["organisation"] = self._of(caller, next(iter(self.limits)))[-1]
        _, counts = await self.counters.take([Limit(0, limit.key) for limit in limits.values()])
        read = zip(limits.items(), counts, strict=True)
        return {name: replace(count, limit=limit.amount) for (name, limit), count in read}

    def _of(self, caller: Caller, name: str) -> list[Limit]:
        """The limits of a request: the key's own, and the one that its organisation's keys share."""
        amount = caller.limits.get(name) or self.tiers.get(caller.tier, {}).get(name) or self.limits[name]
        if caller.org is None or caller.org_limit is None:
            return [Limit(amount, _counter(caller.id, name, caller.id))]
        shared = Limit(caller.org_limit, _counter(caller.org, "org", caller.org))
        return [Limit(amount, _counter(caller.org, name, caller.id)), shared]


def _counter(node: str, name: str, owner: str) -> str:
    """A counter's key. What stands in braces puts the counters of a request on one node of a cluster."""
    return f"{{{node}}}:{name}:{owner}"


def _headers(count: Count) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(count.limit),
        "X-RateLimit-Remaining": str(count.remaining),
        "X-RateLimit-Reset": str(count.reset),
    }
