"""Frontends have no more in flight together than the bound; ``python -m tests.faults.frontends`` looks at many."""

import asyncio
import uuid
from statistics import mean

from tests.clocks import VirtualLoop
from tests.faults.frontends import Size, simulate
from tests.redis import RedisServer
from tests.unit.access.counting import limit_of, passed, shared


def test_the_bound_holds_whoever_comes_and_goes_and_little_is_left(redis_server: RedisServer) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        seen = runner.run(simulate(redis_server.url, Size(6, tritons=5, models=2), quiet=10.0, deaths=3, stormy=30.0))
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
