import asyncio
from contextlib import aclosing

import pytest

from frontend.processes.gather import gather_or_cancel, take_in_order


@pytest.mark.parametrize("at_once", [0, 1, 3])
async def test_at_most_as_many_calls_as_allowed_run_in_parallel_and_one_always(at_once: int) -> None:
    running, most = 0, 0

    async def call(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number

    # The results come in order.
    assert await gather_or_cancel((call(number) for number in range(10)), lambda: at_once) == list(range(10))
    assert most == max(1, at_once)


async def test_the_first_error_is_raised_and_cancels_the_other_calls() -> None:
    ended = asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await gather_or_cancel([forever(), fails()])
    assert ended.is_set()


async def test_the_limit_is_read_again_whenever_a_call_ends() -> None:
    limits, running, seen = iter([1, 1, 1, 3, 3, 3]), 0, []

    async def call() -> None:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        seen.append(running)
        running -= 1

    await gather_or_cancel([call() for _ in range(6)], lambda: next(limits, 3))
    assert (seen[0], max(seen)) == (1, 3)


async def test_calls_that_wait_are_cancelled_without_a_start() -> None:
    task = asyncio.create_task(gather_or_cancel([asyncio.sleep(0.01) for _ in range(3)], lambda: 1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_results_come_in_order_and_few_calls_are_ahead() -> None:
    begun: list[int] = []

    async def call(number: int) -> int:
        begun.append(number)
        await asyncio.sleep(0.01 * (number % 2))
        return number

    async with aclosing(take_in_order((call(number) for number in range(10)), 3)) as results:
        assert [await anext(results), await anext(results)] == [0, 1]
        await asyncio.sleep(0.05)
        assert begun == [0, 1, 2, 3]
        assert [number async for number in results] == list(range(2, 10))


async def test_a_reader_of_results_who_leaves_cancels_the_calls() -> None:
    ended: list[int] = []

    async def call(number: int) -> None:
        try:
            if number:
                await asyncio.Event().wait()
        finally:
            ended.append(number)

    async with aclosing(take_in_order((call(number) for number in range(3)), 3)) as results:
        await anext(results)
    assert ended == [0, 1, 2]
