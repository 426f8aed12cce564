"""Frontends together have no more calls in flight than the bound."""

import asyncio
import uuid
from statistics import mean

from tests.clocks import VirtualLoop
from tests.faults.frontends import Outcome, Simulation, Size
from tests.redis import RedisServer
from tests.unit.access.counting import limit_of, passed, shared


async def _simulated(url: str) -> Outcome:
    return await Simulation(url, Size(6, tritons=5, models=2)).run(quiet=10.0, deaths=3, stormy=30.0)


def test_the_bound_holds_whoever_comes_and_goes_and_little_is_left(redis_server: RedisServer) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        seen = runner.run(_simulated(redis_server.url))
    assert seen.looks
    assert (seen.broken, seen.without) == (0, 0)
    assert mean(seen.parts) > 0.5
    assert seen.begun < 3
    assert max(seen.dead) < 3


async def test_frontends_hear_of_each_other_in_a_redis_that_counts_requests_too(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as first, shared(redis_server.url) as second:
        assert second._frontends.part("model").count == 2
        limits = [limit_of(1, uuid.uuid4().hex)]
        assert await passed([first, second], limits, 4) == 1
