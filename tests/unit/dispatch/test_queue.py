"""The queue on an event loop: deadlines, refusals, cancelled callers, work in a slot."""

import asyncio
import random
import threading
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest

from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import BadGateway
from frontend.processes.offload import Threads
from tests.unit.dispatch.queues import asking, queue_of, waiting


async def test_who_waits_is_answered_at_its_deadline() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        started = time.monotonic()
        with pytest.raises(BadGateway) as refused:
            async with queue.slot(asking(seconds=0.1)):
                pass
    assert time.monotonic() - started > 0.05
    assert int(refused.value.headers["Retry-After"]) >= 1


async def test_a_key_that_waits_too_often_is_refused_and_others_are_not() -> None:
    queue = queue_of(bounds=Bounds(key=2, tier=10))
    async with waiting(queue, asking("greedy"), asking("greedy"), asking("modest")):
        with pytest.raises(BadGateway, match="too many calls"):
            await asyncio.wait_for(queue.slot(asking("greedy")).__aenter__(), 5)


async def test_a_full_priority_leaves_room_for_the_others() -> None:
    queue = queue_of(bounds=Bounds(key=10, tier=2))
    async with waiting(queue, asking("first"), asking("second"), asking("company", 1)):
        with pytest.raises(BadGateway, match="too many calls"):
            await asyncio.wait_for(queue.slot(asking("third")).__aenter__(), 5)


async def test_before_its_work_a_request_is_refused_where_its_calls_would_find_the_queue_full() -> None:
    queue = queue_of(bounds=Bounds(key=2, tier=3))
    async with waiting(queue, asking("greedy"), asking("greedy"), asking("modest")):
        with pytest.raises(BadGateway, match="too many calls"):
            queue.refuse_full(asking("greedy", 1))
        with pytest.raises(BadGateway, match="too many calls"):
            queue.refuse_full(asking("third"))
        queue.refuse_full(asking("company", 1))


async def test_before_its_work_nobody_is_refused_for_its_deadline_which_a_recording_moves() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    async with waiting(queue, *(asking() for _ in range(20))):
        queue.refuse_full(asking(seconds=0.1))


async def test_a_call_that_would_be_late_is_refused_at_once() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    async with waiting(queue, *(asking() for _ in range(20))):
        started = time.monotonic()
        with pytest.raises(BadGateway) as refused:
            await queue.slot(asking(seconds=2)).__aenter__()
        # Not when the deadline had come.
        assert time.monotonic() - started < 2
        assert 4 <= int(refused.value.headers["Retry-After"]) <= 8


async def test_a_key_is_not_refused_for_what_another_lets_wait() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    async with waiting(queue, *(asking("greedy") for _ in range(20))):
        with pytest.raises(BadGateway, match="too busy"):
            await queue.slot(asking("greedy", seconds=2)).__aenter__()
        modest = asyncio.create_task(queue.slot(asking("modest", seconds=2)).__aenter__())
        await asyncio.sleep(0)
        assert not modest.done()
        modest.cancel()


async def test_without_a_backend_nobody_is_kept_waiting() -> None:
    with pytest.raises(BadGateway) as refused:
        await queue_of(0).slot(asking()).__aenter__()
    assert refused.value.headers["Retry-After"] == "1"


@pytest.mark.parametrize(("wait", "retry_after"), [(0.0, 1), (0.2, 1), (7.2, 8), (299.5, 300), (86_400.0, 300)])
async def test_a_refusal_names_the_expected_wait_within_bounds(
    monkeypatch: pytest.MonkeyPatch, wait: float, retry_after: int
) -> None:
    queue = queue_of(bounds=Bounds(key=0))
    monkeypatch.setattr(queue.calls, "expected_wait", lambda call: wait)
    with pytest.raises(BadGateway) as refused:
        await queue.slot(asking()).__aenter__()
    assert refused.value.headers["Retry-After"] == str(retry_after)


async def test_a_request_that_is_given_up_is_told_how_long_a_new_one_would_wait() -> None:
    queue = queue_of(1)
    await queue.run(asking(), lambda backend: asyncio.sleep(0.1))
    (begun,) = queue.contexts(asking(seconds=0.05), [1.0], 8)
    async with waiting(queue, *[asking()] * 50):
        with pytest.raises(BadGateway) as refused:
            await queue.slot(begun).__aenter__()
        assert int(refused.value.headers["Retry-After"]) > 4


async def test_a_full_queue_names_the_wait_behind_all_calls_of_the_key() -> None:
    queue = queue_of(1, Bounds(key=50))
    await queue.run(asking(), lambda backend: asyncio.sleep(0.1))
    async with waiting(queue, *[replace(asking(), rank=1)] * 50):
        with pytest.raises(BadGateway) as refused:
            queue.refuse_early(asking())
        assert int(refused.value.headers["Retry-After"]) > 4


async def test_waiting_calls_go_to_a_backend_that_returns() -> None:
    queue = queue_of(1)
    async with queue.slot(asking()):
        waiting = asyncio.create_task(queue.slot(asking()).__aenter__())
        await asyncio.sleep(0)
        queue.set_places("a", 0)
    assert not waiting.done()
    queue.set_places("b", 1)
    async with asyncio.timeout(1):
        assert await waiting == "b"


async def test_slots_kept_for_a_floor_are_freed_by_time() -> None:
    queue = queue_of(1, rules=Rules(hold_seconds=0.2), floors={"acme": 1})
    async with queue.slot(asking(owner="acme")):
        pass
    started = time.monotonic()
    async with asyncio.timeout(2), queue.slot(asking()):
        assert time.monotonic() - started > 0.1


async def test_cancelled_calls_leak_no_slot() -> None:
    queue, rng = queue_of(3), random.Random(5)

    async def call() -> None:
        async with queue.slot(asking(str(rng.randrange(5)), rng.randint(1, 3))):
            await asyncio.sleep(rng.random() / 500)

    tasks = []
    for number in range(3000):
        tasks.append(asyncio.create_task(call()))
        if number % 7 == 0:
            await asyncio.sleep(0)
        if rng.random() < 0.5:
            asyncio.get_running_loop().call_later(rng.random() / 100, rng.choice(tasks).cancel)
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(1), queue.slot(asking()), queue.slot(asking()), queue.slot(asking()):
        assert queue.in_flight == 3
    assert queue.in_flight == 0
    assert not queue.sender._waiting


async def test_calls_that_leave_together_are_followed_by_one_search_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = queue_of()
    async with waiting(queue, *[asking("leaves")] * 20, asking("stays")):
        left = list(queue.calls.scheduler._arrivals)[:20]
        searched = Mock(wraps=queue.admission.grants)
        monkeypatch.setattr(queue.admission, "grants", searched)
        for call in left:
            queue.sender.leave(queue.calls, call)
        await asyncio.sleep(0)
        assert searched.call_count == 1


async def test_a_floor_can_grow_while_calls_wait() -> None:
    queue = queue_of(2, rules=Rules(hold_seconds=60), floors={"acme": 0})
    queue.calls.scheduler.set_floors({"acme": 1})
    async with queue.slot(asking("a", owner="acme")):
        pass
    async with queue.slot(asking("b")):
        with pytest.raises(BadGateway):
            async with queue.slot(asking("c", seconds=0.1)):
                pass
        async with queue.slot(asking("a", owner="acme")):
            assert queue.in_flight == 2


async def _never_ends(backend: str) -> None:
    await asyncio.Event().wait()


async def test_work_gets_the_name_of_its_backend() -> None:
    async def work(backend: str) -> str:
        return f"done on {backend}"

    assert await queue_of().run(asking(), work) == "done on a"


async def test_an_error_of_the_work_frees_its_slot() -> None:
    async def work(backend: str) -> None:
        raise ValueError("broken")

    queue = queue_of()
    with pytest.raises(ValueError, match="broken"):
        await queue.run(asking(), work)
    assert queue.in_flight == 0


async def test_cancelled_work_keeps_its_slot_until_it_ends() -> None:
    queue, over = queue_of(), asyncio.Event()

    async def work(backend: str) -> None:
        await over.wait()

    caller = asyncio.create_task(queue.run(asking(), work))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert queue.in_flight == 1
    over.set()
    async with asyncio.timeout(1), queue.slot(asking()):
        pass


@pytest.mark.parametrize("grace", [0.0, 0.2])
async def test_abandoned_work_is_cancelled_after_its_grace(grace: float) -> None:
    queue = queue_of()

    caller = asyncio.create_task(queue.run(asking(), _never_ends, grace=lambda backend: grace))
    await asyncio.sleep(0)
    gone = time.monotonic()
    caller.cancel()
    async with asyncio.timeout(2), queue.slot(asking()):
        assert time.monotonic() - gone >= grace


async def test_closing_the_queue_cancels_abandoned_work() -> None:
    queue = queue_of()

    caller = asyncio.create_task(queue.run(asking(), _never_ends))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await queue.close()
    assert queue.in_flight == 0


async def test_a_key_has_no_more_than_its_share_while_places_are_free() -> None:
    queue = queue_of(4, rules=Rules(key_share=0.5))
    async with queue.slot(asking("greedy")), queue.slot(asking("greedy")):
        third = asyncio.create_task(queue.slot(asking("greedy")).__aenter__())
        await asyncio.sleep(0)
        async with asyncio.timeout(1), queue.slot(asking("other")):
            assert not third.done()
    async with asyncio.timeout(1):
        await third


async def test_late_work_is_refused_unless_it_runs_in_parallel() -> None:
    queue = queue_of(4)
    queue.refuse_late(asking(seconds=1), 100, at_once=1)

    async def work(backend: str) -> None:
        await asyncio.sleep(0.1)

    await queue.run(asking(), work)
    queue.refuse_late(asking(seconds=8), 10, at_once=1)
    with pytest.raises(BadGateway, match="would take about"):
        queue.refuse_late(asking(seconds=8), 100, at_once=1)
    queue.refuse_late(asking(seconds=8), 100, at_once=4)


async def test_the_calls_of_a_request_are_due_together_and_know_what_follows_them() -> None:
    queue = queue_of(2)
    contexts = queue.contexts(asking(), [1.0, 2.0, 3.0, 4.0, 5.0], 2)
    assert [context.follows for context in contexts] == [8.0, 4.0, 5.0, 0.0, 0.0]
    assert not any(context.follows for context in queue.contexts(asking(), [1.0, 2.0, 3.0], 8))


async def test_a_request_is_due_when_it_has_taken_four_times_as_long_as_it_would_alone() -> None:
    queue, now = queue_of(2), asyncio.get_running_loop().time
    # Nothing was measured.
    (only,) = {context.due for context in queue.contexts(asking(), [1.0, 2.0], 8)}
    assert only == pytest.approx(now(), abs=0.05)
    await queue.run(asking(), lambda backend: asyncio.sleep(0.1))
    (only,) = {context.due for context in queue.contexts(asking(), [1.0, 2.0], 8)}
    assert only == pytest.approx(now() + 4 * queue.calls.seconds_for(3.0, 2), abs=0.05)
    (only,) = {context.due for context in queue.contexts(asking(seconds=20), [1000.0], 8)}
    assert only == pytest.approx(now() + 10, abs=0.05)


async def test_a_call_lacks_what_those_before_it_take_and_an_idle_queue_has_time_for_any() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    assert queue.seconds_late(asking(seconds=2)) == pytest.approx(-2, abs=0.1)
    async with waiting(queue, *(asking() for _ in range(20))):
        wait = int(queue.late(asking()).headers["Retry-After"])
        assert wait - 3 < queue.seconds_late(asking(seconds=2)) < wait - 1
        assert queue.seconds_late(asking(seconds=60)) < 0


async def test_a_call_whose_wait_leaves_little_time_for_its_work_would_be_late() -> None:
    queue = queue_of()
    async with queue.slot(asking()):
        await asyncio.sleep(0.2)
    async with waiting(queue, *(asking(seconds=600) for _ in range(200))):
        wait = int(queue.late(asking()).headers["Retry-After"])
        assert wait < queue.seconds_late(asking(seconds=0)) < 1.1 * wait


async def test_a_deadline_that_is_extended_is_later() -> None:
    extended = asking(seconds=1)
    extended.extend(10)
    assert 10 < extended.remaining() <= 11


async def test_a_cancelled_thread_keeps_its_slot_until_it_ends() -> None:
    queue, goes_on = queue_of(1), threading.Event()
    pool = WorkerQueue(queue, Threads(1))
    gone = asyncio.create_task(pool.run(asking(), goes_on.wait))
    await asyncio.sleep(0.05)
    gone.cancel()
    next_one = asyncio.create_task(pool.run(asking(), lambda: "done"))
    await asyncio.sleep(1.3)
    assert (queue.in_flight, queue.calls.scheduler.waits) == (1, 1)
    goes_on.set()
    assert await next_one == "done"
    with pytest.raises(asyncio.CancelledError):
        await gone
    await pool.close()
