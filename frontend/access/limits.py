"""How many requests a minute a caller may send to an endpoint, and what happens when Redis cannot say."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from limits import RateLimitItemPerMinute

from frontend.access.caller import Caller
from frontend.access.counters import PREFIX, Limit, MemoryCounters, RedisCounters, Taken, within_ticks
from frontend.access.windows import Count
from frontend.errors import BadGateway, RateLimited
from frontend.observe.logs import Outage
from frontend.observe.metrics import LIMITER_DEGRADED
from frontend.observe.stores import REDIS_AWAY, asking_redis
from frontend.processes.background import Repeating

_BEAT_SECONDS = 1.0
_DEAD_SECONDS = 3
_LIVE = f"{PREFIX}:frontends"
_Answer = TypeVar("_Answer")


class SharedCounters:
    """Counts in Redis; while that is away, each frontend counts its own share of every limit.

    A request that meets the outage loses at most 0.2 s, those after it none: only the heartbeat asks Redis again.
    ``refuse`` makes an outage refuse requests instead.
    """

    def __init__(self, url: str, *, refuse: bool) -> None:
        self._shared = RedisCounters(url)
        self._local = MemoryCounters()
        self._refuse = refuse
        self._name = uuid.uuid4().hex
        self._frontends = 1
        self._outage = Outage(
            "Redis is away: requests are counted in this process", "Redis is back: requests are counted together again"
        )
        self._heart = Repeating(_BEAT_SECONDS, self._beat)

    async def start(self) -> None:
        """Ask Redis once, then keep telling it that this frontend lives."""
        await self._beat()
        self._heart.start()

    async def close(self) -> None:
        await self._heart.close()
        if not self._outage.away:
            with suppress(*REDIS_AWAY), asking_redis("limits"):
                await within_ticks(self._shared.redis.zrem(_LIVE, self._name))
        await self._shared.close()

    async def take(self, limits: Sequence[Limit]) -> Taken:
        if (taken := await self._together(self._shared.take, limits)) is not None:
            return taken
        if self._refuse:
            raise BadGateway("requests cannot be counted for the moment, retry with backoff")
        return await self._local.take(self._share(limits))

    async def look(self, limits: Sequence[Limit]) -> list[Count]:
        counts = await self._together(self._shared.look, limits)
        return await self._local.look(self._share(limits)) if counts is None else counts

    async def _together(
        self, ask: Callable[[Sequence[Limit]], Awaitable[_Answer]], limits: Sequence[Limit]
    ) -> _Answer | None:
        """What Redis answers; None while it is away."""
        if self._outage.away:
            return None
        try:
            return await ask(limits)
        except REDIS_AWAY as error:
            self._note(error)
            return None

    def _share(self, limits: Sequence[Limit]) -> list[Limit]:
        return [(RateLimitItemPerMinute(max(1, item.amount // self._frontends)), key) for item, key in limits]

    async def _beat(self) -> None:
        try:
            with asking_redis("limits"):
                self._frontends = max(1, await within_ticks(self._tell()))
        except REDIS_AWAY as error:
            self._note(error)
        else:
            self._note(None)

    async def _tell(self) -> int:
        """Write this frontend down by Redis's own clock, forget dead ones, and answer how many live."""
        now, _ = await self._shared.redis.time()
        async with self._shared.redis.pipeline(transaction=False) as pipeline:
            pipeline.zadd(_LIVE, {self._name: now})
            pipeline.zremrangebyscore(_LIVE, "-inf", now - _DEAD_SECONDS)
            pipeline.zcard(_LIVE)
            return int((await pipeline.execute())[-1])

    def _note(self, error: Exception | None) -> None:
        self._outage.note(error, frontends=self._frontends, refuse=self._refuse)
        LIMITER_DEGRADED.set(self._outage.away)


Counters = MemoryCounters | SharedCounters


@dataclass(frozen=True)
class Limiter:
    """Decides over requests; ``limits`` by name, ``tiers`` where a tier has other numbers."""

    counters: Counters
    limits: Mapping[str, int]
    tiers: Mapping[str, Mapping[str, int]]

    async def take(self, caller: Caller, name: str) -> Mapping[str, str]:
        """Count a request and answer its headers; ``RateLimited`` (429), with them too, where a limit is reached."""
        passed, counts = await self.counters.take(self._of(caller, name))
        if passed:
            return _headers(min(counts, key=lambda count: count.remaining))
        reached = max((count for count in counts if not count.open), key=lambda count: count.retry_after)
        message = f"rate limit exceeded ({reached.limit}/min)"
        raise RateLimited(message, headers={**_headers(reached), "Retry-After": str(reached.retry_after)})

    async def look(self, caller: Caller) -> dict[str, Count]:
        """How much of each limit that holds for the caller is used now; ``organisation`` is what its keys share."""
        calls = (self.counters.look(self._of(caller, name)) for name in self.limits)
        found = dict(zip(self.limits, await asyncio.gather(*calls), strict=True))
        counts = {name: counts[0] for name, counts in found.items()}
        if caller.org_limit is not None:
            counts["organisation"] = next(iter(found.values()))[1]
        return counts

    def _of(self, caller: Caller, name: str) -> list[Limit]:
        """What a request counts under: the key's own limit, and the one that its organisation's keys share."""
        amount = caller.limits.get(name) or self.tiers.get(caller.tier, {}).get(name) or self.limits[name]
        wanted: list[Limit] = [(RateLimitItemPerMinute(amount), (name, caller.id))]
        if caller.org is not None and caller.org_limit is not None:
            wanted.append((RateLimitItemPerMinute(caller.org_limit), ("org", caller.org)))
        return wanted


def _headers(count: Count) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(count.limit),
        "X-RateLimit-Remaining": str(count.remaining),
        "X-RateLimit-Reset": str(count.reset),
    }
