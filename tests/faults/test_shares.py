"""Slots are not given twice, whatever comes and goes; ``python -m tests.faults.shares`` looks at many frontends."""

import asyncio
from statistics import mean

from tests.clocks import VirtualLoop
from tests.faults.shares import Size, simulate
from tests.redis import RedisServer


def test_no_slot_is_given_twice_and_none_is_left(redis_server: RedisServer) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        outcome = runner.run(simulate(redis_server.url, Size(6, tritons=5, models=2, slots=3), quiet=5.0, stormy=30.0))
    assert outcome.looks
    assert outcome.oversubscribed == 0
    assert mean(outcome.parts) > 0.5
