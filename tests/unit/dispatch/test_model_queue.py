"""The queue on an event loop: deadlines, refusals, callers who leave, and the work that has a slot."""

import asyncio
import random
import time

import pytest

from frontend.dispatch.model_queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import Demand
from frontend.dispatch.window import CongestionWindow, Work
from frontend.errors import BadGateway
from tests.unit.dispatch.queues import queue_of, turn, waiting


async def test_who_waits_is_answered_at_its_deadline() -> None:
    queue = queue_of()
    async with queue.slot(turn()):
        started = time.monotonic()
        with pytest.raises(BadGateway) as refused:
            async with queue.slot(turn(seconds=0.1)):
                pass
    assert time.monotonic() - started > 0.05
    assert int(refused.value.headers["Retry-After"]) >= 1


async def test_a_key_that_waits_too_often_is_refused_and_others_are_not() -> None:
    queue = queue_of(bounds=Bounds(key=2, tier=10))
    async with waiting(queue, turn("greedy"), turn("greedy"), turn("modest")):
        with pytest.raises(BadGateway, match="too many calls"):
            await queue.slot(turn("greedy")).__aenter__()


async def test_a_full_tier_leaves_room_for_the_others() -> None:
    queue = queue_of(bounds=Bounds(key=10, tier=2))
    async with waiting(queue, turn("first"), turn("second"), turn("company", 1)):
        with pytest.raises(BadGateway, match="too many calls"):
            await queue.slot(turn("third")).__aenter__()


async def test_who_could_not_be_served_in_time_is_refused_at_the_door() -> None:
    queue = queue_of()
    async with queue.slot(turn()):
        await asyncio.sleep(0.2)
    async with waiting(queue, *(turn() for _ in range(20))):
        started = time.monotonic()
        with pytest.raises(BadGateway) as refused:
            await queue.slot(turn(seconds=2)).__aenter__()
        # Not when the deadline had come.
        assert time.monotonic() - started < 2
        assert 4 <= int(refused.value.headers["Retry-After"]) <= 8


async def test_without_a_backend_nobody_is_kept_waiting() -> None:
    with pytest.raises(BadGateway) as refused:
        await queue_of(0).slot(turn()).__aenter__()
    assert refused.value.headers["Retry-After"] == "1"


@pytest.mark.parametrize(("wait", "retry_after"), [(0.0, 1), (0.2, 1), (7.2, 8), (299.5, 300), (86_400.0, 300)])
async def test_a_refusal_names_the_expected_wait_within_bounds(
    monkeypatch: pytest.MonkeyPatch, wait: float, retry_after: int
) -> None:
    queue = queue_of(bounds=Bounds(key=0))
    monkeypatch.setattr(queue._scheduler, "expected_wait", lambda tier: wait)
    with pytest.raises(BadGateway) as refused:
        await queue.slot(turn()).__aenter__()
    assert refused.value.headers["Retry-After"] == str(retry_after)


async def test_a_backend_that_comes_back_serves_those_who_wait() -> None:
    queue = queue_of(1)
    async with queue.slot(turn()):
        waiting = asyncio.create_task(queue.slot(turn()).__aenter__())
        await asyncio.sleep(0)
        queue.set_limit("a", 0)
    assert not waiting.done()
    queue.set_limit("b", 1)
    async with asyncio.timeout(1):
        assert await waiting == "b"


async def test_slots_held_for_a_floor_come_free_without_anybody_moving() -> None:
    queue = queue_of(1, rules=Rules(hold_seconds=0.2), floors={"acme": 1})
    async with queue.slot(turn(owner="acme")):
        pass
    started = time.monotonic()
    async with asyncio.timeout(2), queue.slot(turn()):
        assert time.monotonic() - started > 0.1


async def test_callers_who_leave_at_any_moment_leak_no_slot() -> None:
    queue, rng = queue_of(3), random.Random(5)

    async def call() -> None:
        async with queue.slot(turn(str(rng.randrange(5)), rng.randint(1, 3))):
            await asyncio.sleep(rng.random() / 500)

    tasks = []
    for number in range(3000):
        tasks.append(asyncio.create_task(call()))
        if number % 7 == 0:
            await asyncio.sleep(0)
        if rng.random() < 0.5:
            asyncio.get_running_loop().call_later(rng.random() / 100, rng.choice(tasks).cancel)
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(1), queue.slot(turn()), queue.slot(turn()), queue.slot(turn()):
        assert queue._scheduler.free == 0
    assert queue._scheduler.free == 3
    assert not queue._granted


async def test_a_floor_can_grow_while_calls_wait() -> None:
    queue = queue_of(2, rules=Rules(hold_seconds=60), floors={"acme": 0})
    queue.set_floors({"acme": 1})
    async with queue.slot(turn("a", owner="acme")):
        pass
    async with queue.slot(turn("b")):
        with pytest.raises(BadGateway):
            async with queue.slot(turn("c", seconds=0.1)):
                pass
        async with queue.slot(turn("a", owner="acme")):
            assert queue.demand == Demand(2, {"acme": 1}, is_used=True)


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
    assert queue.demand == Demand(0, {}, is_used=True)


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
