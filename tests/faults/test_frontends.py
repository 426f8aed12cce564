"""Frontends together have no more calls in flight than the bound."""

import asyncio
from statistics import mean

from tests.clocks import VirtualLoop
from tests.faults.frontends import Outcome, Simulation, Size
from tests.redis import RedisServer


async def _simulated(url: str) -> Outcome:
    return await Simulation(url, Size(6, tritons=5, models=2)).run(quiet=10.0, deaths=3, stormy=30.0)


def test_the_bound_holds_while_frontends_and_tritons_come_and_go(redis_server: RedisServer) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        seen = runner.run(_simulated(redis_server.url))
    assert seen.looks
    assert (seen.broken, seen.without) == (0, 0)
    assert mean(seen.parts) > 0.5
    assert seen.begun < 3
    assert max(seen.dead) < 3
