"""Frontends have no more in flight together than the bound; ``python -m tests.faults.frontends`` looks at many."""

import asyncio
from statistics import mean

from frontend.access.limits import SharedCounters
from frontend.peers.frontends import SharedFrontends
from tests.clocks import VirtualLoop
from tests.faults.frontends import Size, simulate
from tests.redis import RedisServer


def test_the_bound_holds_whoever_comes_and_goes_and_little_is_left(redis_server: RedisServer) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        seen = runner.run(simulate(redis_server.url, Size(6, tritons=5, models=2), quiet=10.0, deaths=3, stormy=30.0))
    assert seen.looks
    assert (seen.broken, seen.without) == (0, 0)
    assert mean(seen.parts) > 0.5
    assert seen.begun < 3
    assert max(seen.dead) < 3


async def test_frontends_hear_of_each_other_in_a_redis_that_counts_requests_too(redis_server: RedisServer) -> None:
    counters = SharedCounters(redis_server.url, refuse=False)
    await counters.start()
    frontends = [SharedFrontends(redis_server.url, dict, lambda: None) for _ in range(2)]
    for frontend in frontends:
        await frontend.start()
    heard = frontends[1].part("model").count
    await asyncio.gather(counters.close(), *(frontend.close() for frontend in frontends))
    assert heard == 2
