import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from frontend.concurrency.background import Repeating, forget_outcome, measure_loop_delay, uninterrupted
from frontend.observe.logs import NO_REQUEST, request_id
from tests.eventually import until
from tests.samples import Change


@asynccontextmanager
async def _started(work: Callable[[], Awaitable[None]]) -> AsyncIterator[Repeating]:
    """Work that has begun."""
    repeating = Repeating(0.0, work)
    repeating.start()
    await asyncio.sleep(0.02)
    yield repeating
    await repeating.close()


async def test_work_repeats_after_an_error() -> None:
    done = 0

    async def work() -> None:
        nonlocal done
        done += 1
        if done == 1:
            raise RuntimeError("once")

    async with _started(work):
        await until(lambda: done > 2)


async def test_work_ends_with_close() -> None:
    done: list[str] = []

    async def work() -> None:
        done.append("work")

    repeating = Repeating(0.01, work)
    # Work that never started can be closed too.
    await repeating.close()
    repeating.start()
    await repeating.close()
    await asyncio.sleep(0.05)
    assert done == []


async def test_work_that_swallows_its_cancellation_ends_with_close() -> None:
    async def work() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    async with asyncio.timeout(5), _started(work):
        pass


async def test_finish_waits_for_the_current_work() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0.1)
        done.append("work")

    async with _started(work) as repeating:
        await repeating.finish()
        assert done == ["work"]


async def test_a_cancellation_while_the_work_ends_is_not_lost() -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)

    async with _started(work) as repeating:
        closing = asyncio.create_task(repeating.close())
        await asyncio.sleep(0.02)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()


async def test_background_work_belongs_to_no_request() -> None:
    names: list[str] = []

    async def work() -> None:
        names.append(request_id.get())

    token = request_id.set("a request that started it")
    async with _started(work):
        await until(lambda: names)
    request_id.reset(token)
    assert set(names) == {NO_REQUEST}


async def test_uninterrupted_work_ends_before_a_cancelled_caller_does() -> None:
    begun, ended = asyncio.Event(), []

    @uninterrupted
    async def work(name: str) -> str:
        begun.set()
        await asyncio.sleep(0.02)
        ended.append(name)
        return name

    assert await work("first") == "first"
    begun.clear()
    caller = asyncio.create_task(work("second"))
    await begun.wait()
    caller.cancel()
    with suppress(asyncio.CancelledError):
        await caller
    assert caller.cancelled()
    assert ended == ["first", "second"]


async def test_uninterrupted_work_raises_its_error() -> None:
    @uninterrupted
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await work()


async def test_a_cancelled_caller_does_not_wait_for_work_that_takes_long() -> None:
    done = asyncio.Event()

    @uninterrupted
    async def work() -> None:
        await done.wait()

    started = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await work()
    assert asyncio.get_running_loop().time() - started < 2
    done.set()


async def test_the_outcome_of_work_that_nobody_waits_for_is_not_reported() -> None:
    async def fails() -> None:
        raise ValueError("no")

    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    tasks = [asyncio.create_task(fails()), asyncio.create_task(asyncio.sleep(9))]
    for number, task in enumerate(tasks):
        task.add_done_callback(forget_outcome)
        asyncio.get_running_loop().call_soon(task.cancel if number else int)
    await asyncio.wait(tasks)
    await asyncio.sleep(0)
    del task, tasks
    assert reported == []


async def test_a_blocked_event_loop_is_measured() -> None:
    delayed = Change("quartet_loop_delay_seconds_sum")
    measuring = asyncio.create_task(measure_loop_delay())
    await asyncio.sleep(0)
    time.sleep(0.3)  # noqa: ASYNC251 - it blocks on purpose
    await measuring
    assert 0.05 < delayed.by < 3
