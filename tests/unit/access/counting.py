"""Counters of requests, and how many of some requests pass them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from limits import RateLimitItemPerMinute

from frontend.access.counters import Limit
from frontend.access.limits import Counters, SharedCounters
from tests.redis import RedisServer


def limit_of(number: int, owner: str, name: str = "embeddings") -> Limit:
    return RateLimitItemPerMinute(number), (name, owner)


@asynccontextmanager
async def shared(server: RedisServer, *, refuse: bool = False) -> AsyncIterator[SharedCounters]:
    counters = SharedCounters(server.url, refuse=refuse)
    await counters.start()
    try:
        yield counters
    finally:
        await counters.close()


async def passed(counters: list[Counters], limits: list[Limit], requests: int) -> int:
    calls = (counters[number % len(counters)].take(limits) for number in range(requests))
    return sum([taken for taken, _ in await asyncio.gather(*calls)])
