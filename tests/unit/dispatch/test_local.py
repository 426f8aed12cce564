"""The queue of local workers: its order, its bounds, and how long calls wait."""

import asyncio
import random

import pytest

from frontend.dispatch.local import LocalCalls
from frontend.dispatch.queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import BULK, Rules
from frontend.errors import BadGateway
from tests.unit.dispatch.queues import asking


def _queue_of(slots: int, *, key_share: float = 1.0) -> tuple[ModelQueue, LocalCalls]:
    calls = LocalCalls("audio", Rules(key_share=key_share), slots)
    return ModelQueue(calls, calls.enter, calls.leave, Bounds()), calls


async def test_waiting_calls_go_by_tier_and_then_in_turn_by_key() -> None:
    queue, _ = _queue_of(1)
    order: list[str] = []

    async def ask(key: str, priority: int) -> None:
        async with queue.slot(asking(key, priority)):
            order.append(key)

    async with queue.slot(asking()):
        asked = [("mass", BULK), ("greedy", 3), ("greedy", 3), ("modest", 3), ("company", 1)]
        calls = [asyncio.create_task(ask(key, priority)) for key, priority in asked]
        await asyncio.sleep(0)
    await asyncio.gather(*calls)
    assert order == ["company", "greedy", "modest", "greedy", "mass"]


async def test_bulk_work_takes_a_free_worker_beside_others() -> None:
    queue, _ = _queue_of(2)
    async with queue.slot(asking()), asyncio.timeout(1), queue.slot(asking("mass", BULK)):
        pass


async def test_a_key_leaves_free_workers_to_others_beyond_its_share() -> None:
    queue, _ = _queue_of(4, key_share=0.5)
    async with queue.slot(asking("greedy")), queue.slot(asking("greedy")):
        third = asyncio.create_task(queue.slot(asking("greedy")).__aenter__())
        async with asyncio.timeout(1), queue.slot(asking("other")):
            assert not third.done()
    async with asyncio.timeout(1):
        await third


async def test_cancelled_calls_leak_no_worker() -> None:
    (queue, calls), rng = _queue_of(3), random.Random(5)

    async def ask() -> None:
        async with queue.slot(asking(str(rng.randrange(5)), rng.randint(1, 4))):
            await asyncio.sleep(rng.random() / 500)

    tasks = []
    for number in range(2000):
        tasks.append(asyncio.create_task(ask()))
        if number % 7 == 0:
            await asyncio.sleep(0)
        if rng.random() < 0.5:
            asyncio.get_running_loop().call_later(rng.random() / 100, rng.choice(tasks).cancel)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (calls.scheduler.in_flight, calls.scheduler.waits, calls._waiting) == (0, 0, {})


async def test_a_call_that_would_be_late_is_refused_at_once() -> None:
    queue, _ = _queue_of(1)
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    async with queue.slot(asking()):
        calls = [asyncio.create_task(queue.slot(asking()).__aenter__()) for _ in range(20)]
        await asyncio.sleep(0)
        with pytest.raises(BadGateway) as refused:
            await queue.slot(asking(seconds=2)).__aenter__()
        assert 4 <= int(refused.value.headers["Retry-After"]) <= 8
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
