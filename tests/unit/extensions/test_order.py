import asyncio
from contextlib import aclosing

import pytest

from frontend.extensions.streams.order import read_ahead, run_in_order


async def test_results_come_in_order_and_few_calls_are_ahead() -> None:
    begun: list[int] = []

    async def call(number: int) -> int:
        begun.append(number)
        await asyncio.sleep(0.01 * (number % 2))
        return number

    async with aclosing(read_ahead((call(number) for number in range(10)), 3)) as results:
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

    async with aclosing(read_ahead((call(number) for number in range(3)), 3)) as results:
        await anext(results)
    assert ended == [0, 1, 2]


async def _after(turns: int, result: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return result


async def test_results_come_in_their_turn_while_later_calls_go_on() -> None:
    slow = asyncio.Event()
    ended: list[int] = []

    async def second() -> int:
        await slow.wait()
        return 1

    calls = [_after(1, 0), second(), _after(1, 2)]
    async with run_in_order(calls, lambda: 3, lambda: ended.append(1)) as results:
        assert await anext(results) == 0
        assert not ended
        slow.set()
        # They end though nobody asks for the other results.
        await asyncio.sleep(0.01)
        assert ended == [1]
        assert [result async for result in results] == [1, 2]


async def test_the_first_call_runs_alone() -> None:
    going, begun = asyncio.Event(), []

    async def call(number: int) -> None:
        begun.append(number)
        await going.wait()

    async with run_in_order([call(number) for number in range(3)], lambda: 2) as results:
        await asyncio.sleep(0.01)
        assert begun == [0]
        going.set()
        await anext(results)
        await asyncio.sleep(0.01)
    assert begun == [0, 1, 2]


async def test_an_error_is_raised_instead_of_the_next_result_and_cancels_the_other_calls() -> None:
    async def fails() -> int:
        raise LookupError("gone")

    async with run_in_order([_after(1, 0), asyncio.sleep(60, 1), fails()], lambda: 3) as results:
        with pytest.raises(LookupError, match="gone"):
            assert [result async for result in results] == [0, 1, 2]


async def test_calls_end_with_the_block() -> None:
    begun: list[int] = []

    async def call(number: int) -> None:
        begun.append(number)
        if number:
            await asyncio.Event().wait()

    async with run_in_order([call(number) for number in range(4)], lambda: 2) as results:
        await anext(results)
        waiting = asyncio.ensure_future(anext(results))
        await asyncio.sleep(0.01)
        waiting.cancel()
    # The last never had its turn.
    assert begun == [0, 1, 2]
