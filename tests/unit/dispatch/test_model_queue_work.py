"""The queue on an event loop: the work that has a slot, and how much of it there is."""

import asyncio
import time

import pytest

from frontend.dispatch.model_queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import Demand
from frontend.dispatch.window import CongestionWindow, Work
from frontend.errors import BadGateway
from tests.unit.dispatch.queues import queue_of, turn


async def _never_ends(backend: str) -> None:
    await asyncio.Event().wait()


async def test_work_is_done_on_the_backend_of_its_slot() -> None:
    async def work(backend: str) -> str:
        return f"done on {backend}"

    assert await queue_of().run(turn(), work) == "done on a"


async def test_an_error_of_the_work_is_the_callers_and_gives_the_slot_back() -> None:
    async def work(backend: str) -> None:
        raise ValueError("broken")

    queue = queue_of()
    with pytest.raises(ValueError, match="broken"):
        await queue.run(turn(), work)
    assert queue._scheduler.free == 1


async def test_a_caller_who_goes_leaves_the_slot_to_the_work_until_that_ends() -> None:
    queue, over = queue_of(), asyncio.Event()

    async def work(backend: str) -> None:
        await over.wait()

    caller = asyncio.create_task(queue.run(turn(), work))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert queue._scheduler.free == 0
    over.set()
    async with asyncio.timeout(1), queue.slot(turn()):
        pass


@pytest.mark.parametrize("grace", [0.0, 0.2])
async def test_work_whose_caller_has_gone_is_cancelled_after_its_grace(grace: float) -> None:
    queue = queue_of()

    caller = asyncio.create_task(queue.run(turn(), _never_ends, grace=lambda backend: grace))
    await asyncio.sleep(0)
    gone = time.monotonic()
    caller.cancel()
    async with asyncio.timeout(2), queue.slot(turn()):
        assert time.monotonic() - gone >= grace


async def test_what_callers_left_behind_ends_with_thequeue_of() -> None:
    queue = queue_of()

    caller = asyncio.create_task(queue.run(turn(), _never_ends))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await queue.close()
    assert queue.demand == Demand(0, {})


async def test_a_key_has_no_more_than_its_share_while_slots_are_free() -> None:
    queue = queue_of(4, rules=Rules(key_share=0.5))
    async with queue.slot(turn("greedy")), queue.slot(turn("greedy")):
        third = asyncio.create_task(queue.slot(turn("greedy")).__aenter__())
        await asyncio.sleep(0)
        async with asyncio.timeout(1), queue.slot(turn("other")):
            assert not third.done()
    async with asyncio.timeout(1):
        await third


@pytest.mark.parametrize(
    ("piece", "cost", "most"),
    [
        (100, 80, 5),
        # One call a lane goes however much work it is.
        (1, 30, 2),
    ],
)
async def test_calls_under_way_hold_two_pieces_a_lane_at_most(piece: float, cost: float, most: int) -> None:
    queue = ModelQueue("m", Rules(), Bounds(), None, CongestionWindow(Work(piece, piece), 1.0))
    queue.set_limit("a", 64, lanes=2)
    begun, over = [], asyncio.Event()

    async def work(backend: str) -> None:
        begun.append(backend)
        await over.wait()

    calls = [asyncio.create_task(queue.run(turn(), work, cost=cost)) for _ in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(begun) == most
    over.set()
    await asyncio.gather(*calls)


async def test_work_that_would_be_late_is_refused_and_side_by_side_it_may_be_in_time() -> None:
    queue = ModelQueue("m", Rules(), Bounds(), window=CongestionWindow(Work(100, 100), 1.0))
    queue.set_limit("a", 4)
    queue.refuse_late(turn(seconds=1), 10_000, at_once=1)

    async def work(backend: str) -> None:
        await asyncio.sleep(0.1)

    await queue.run(turn(), work, cost=100)
    queue.refuse_late(turn(seconds=5), 1_000, at_once=1)
    with pytest.raises(BadGateway, match="would take about"):
        queue.refuse_late(turn(seconds=5), 10_000, at_once=1)
    queue.refuse_late(turn(seconds=5), 10_000, at_once=4)


async def test_a_turn_that_is_extended_ends_later() -> None:
    extended = turn(seconds=1)
    extended.extend(10)
    assert 10 < extended.remaining() <= 11
