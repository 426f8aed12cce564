"""Counters, and the number of requests that they pass."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from frontend.access.counters import Counters, Limit
from frontend.sharing.counters import SharedCounters
from frontend.sharing.frontends import SharedFrontends


def limit_of(number: int, owner: str, name: str = "embeddings") -> Limit:
    return Limit(number, f"{{{owner}}}:{name}:{owner}")


@asynccontextmanager
async def shared(url: str, *, refuse: bool = False) -> AsyncIterator[SharedCounters]:
    frontends = SharedFrontends(url, dict, lambda: None)
    counters = SharedCounters(frontends, refuse=refuse)
    await asyncio.gather(frontends.start(), counters.start())
    try:
        yield counters
    finally:
        await counters.close()
        await frontends.close()


async def passed(counters: list[Counters], limits: list[Limit], requests: int) -> int:
    calls = (counters[number % len(counters)].take(limits) for number in range(requests))
    return sum([taken for taken, _ in await asyncio.gather(*calls)])
