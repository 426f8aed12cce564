"""The queue on an event loop: the work that has a slot, and how much of it there is."""

import asyncio
import time
from collections.abc import Mapping

import pytest

from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import Demand
from frontend.dispatch.window import CongestionWindow, Work
from frontend.errors import BadGateway


def _turn(key: str = "k", tier: int = 3, seconds: float = 60.0, owner: str | None = None) -> Turn:
    return Turn(key, tier, owner, asyncio.get_running_loop().time() + seconds)


def _queue(
    slots: int = 1, bounds: Bounds | None = None, rules: Rules | None = None, floors: Mapping[str, int] | None = None
) -> ModelQueue:
    queue = ModelQueue("m", rules or Rules(), bounds or Bounds(), floors)
    queue.set_limit("a", slots)
    return queue


async def test_work_is_done_on_the_backend_of_its_slot() -> None:
    async def work(backend: str) -> str:
        return f"done on {backend}"

    assert await _queue().run(_turn(), work) == "done on a"


async def test_an_error_of_the_work_is_the_callers_and_gives_the_slot_back() -> None:
    async def work(backend: str) -> None:
        raise ValueError("broken")

    queue = _queue()
    with pytest.raises(ValueError, match="broken"):
        await queue.run(_turn(), work)
    assert queue._scheduler.free == 1


async def test_a_caller_who_goes_leaves_the_slot_to_the_work_until_that_ends() -> None:
    queue, over = _queue(), asyncio.Event()

    async def work(backend: str) -> None:
        await over.wait()

    caller = asyncio.create_task(queue.run(_turn(), work))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert queue._scheduler.free == 0
    over.set()
    async with asyncio.timeout(1), queue.slot(_turn()):
        pass


@pytest.mark.parametrize("grace", [0.0, 0.2])
async def test_work_whose_caller_has_gone_is_cancelled_after_its_grace(grace: float) -> None:
    queue = _queue()

    async def work(backend: str) -> None:
        await asyncio.Event().wait()

    caller = asyncio.create_task(queue.run(_turn(), work, grace=lambda backend: grace))
    await asyncio.sleep(0)
    gone = time.monotonic()
    caller.cancel()
    async with asyncio.timeout(2), queue.slot(_turn()):
        assert time.monotonic() - gone >= grace


async def test_what_callers_left_behind_ends_with_the_queue() -> None:
    queue = _queue()

    async def work(backend: str) -> None:
        await asyncio.Event().wait()

    caller = asyncio.create_task(queue.run(_turn(), work))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await queue.close()
    assert queue.demand == Demand(0, {})


async def test_a_key_has_no_more_than_its_share_while_slots_are_free() -> None:
    queue = _queue(4, rules=Rules(key_share=0.5))
    async with queue.slot(_turn("greedy")), queue.slot(_turn("greedy")):
        third = asyncio.create_task(queue.slot(_turn("greedy")).__aenter__())
        await asyncio.sleep(0)
        async with asyncio.timeout(1), queue.slot(_turn("other")):
            assert not third.done()
    async with asyncio.timeout(1):
        await third


async def test_calls_under_way_hold_two_pieces_a_lane_at_most() -> None:
    window = CongestionWindow(Work(100, 100), 1.0)
    queue = ModelQueue("m", Rules(), Bounds(), None, window)
    queue.set_limit("a", 64, lanes=2)
    begun, over = 0, asyncio.Event()

    async def work(backend: str) -> None:
        nonlocal begun
        begun += 1
        await over.wait()

    calls = [asyncio.create_task(queue.run(_turn(), work, cost=80)) for _ in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun == 5
    over.set()
    await asyncio.gather(*calls)


async def test_one_call_a_lane_goes_however_much_work_it_is() -> None:
    queue = ModelQueue("m", Rules(), Bounds(), None, CongestionWindow(Work(1, 1), 1.0))
    queue.set_limit("a", 64, lanes=2)
    begun, over = 0, asyncio.Event()

    async def work(backend: str) -> None:
        nonlocal begun
        begun += 1
        await over.wait()

    calls = [asyncio.create_task(queue.run(_turn(), work, cost=30)) for _ in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun == 2
    over.set()
    await asyncio.gather(*calls)


async def test_work_that_would_be_late_is_refused_and_side_by_side_it_may_be_in_time() -> None:
    queue = ModelQueue("m", Rules(), Bounds(), window=CongestionWindow(Work(100, 100), 1.0))
    queue.set_limit("a", 4)
    queue.refuse_late(_turn(seconds=1), 10_000, at_once=1)

    async def work(backend: str) -> None:
        await asyncio.sleep(0.1)

    await queue.run(_turn(), work, cost=100)
    queue.refuse_late(_turn(seconds=5), 1_000, at_once=1)
    with pytest.raises(BadGateway, match="would take about"):
        queue.refuse_late(_turn(seconds=5), 10_000, at_once=1)
    queue.refuse_late(_turn(seconds=5), 10_000, at_once=4)


async def test_a_turn_that_is_extended_ends_later() -> None:
    turn = _turn(seconds=1)
    turn.extend(10)
    assert 10 < turn.remaining() <= 11
