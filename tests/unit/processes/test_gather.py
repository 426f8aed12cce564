import asyncio

import pytest

from frontend.processes.gather import gather_or_cancel


@pytest.mark.parametrize("at_once", [0, 1, 3])
async def test_no_more_run_side_by_side_than_may_and_results_come_in_order(at_once: int) -> None:
    running, most = 0, 0

    async def call(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number

    assert await gather_or_cancel((call(number) for number in range(10)), lambda: at_once) == list(range(10))
    # One always may: where none could, nothing would ever end.
    assert most == max(1, at_once)


async def test_the_first_error_is_raised_as_itself_and_ends_the_others() -> None:
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


async def test_how_many_may_run_is_asked_again_whenever_one_ends() -> None:
    limits, running, seen = iter([1, 1, 1, 3, 3, 3]), 0, []

    async def call() -> None:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        seen.append(running)
        running -= 1

    await gather_or_cancel([call() for _ in range(6)], lambda: next(limits, 3))
    assert (seen[0], max(seen)) == (1, 3)


async def test_what_is_cancelled_while_it_waits_takes_no_place() -> None:
    async def call() -> None:
        await asyncio.sleep(0.01)

    task = asyncio.create_task(gather_or_cancel([call() for _ in range(3)], lambda: 1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
