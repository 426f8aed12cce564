import asyncio

import pytest

from frontend.concurrency.gather import gather_or_cancel


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
