import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from frontend.observe.stores import asking_redis


async def _lose_it() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def _fail_for_it() -> None:
    await _lose_it()
    raise TimeoutError


@pytest.mark.parametrize("question", [_lose_it, _fail_for_it])
async def test_a_cancellation_that_a_question_loses_leaves_it_all_the_same(
    question: Callable[[], Awaitable[None]],
) -> None:
    async def ask() -> None:
        with suppress(TimeoutError), asking_redis("locks"):
            await question()

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()


async def test_who_was_cancelled_before_may_ask_to_its_end() -> None:
    asked = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            with asking_redis("locks"):
                await asyncio.sleep(0)
            asked.append("released")

    cleaning = asyncio.create_task(clean_up())
    await asyncio.sleep(0.01)
    cleaning.cancel()
    await asyncio.wait([cleaning])
    assert asked == ["released"]


async def test_a_timeout_around_a_question_that_loses_it_is_a_timeout() -> None:
    async def ask() -> None:
        async with asyncio.timeout(0.01):
            with asking_redis("locks"):
                await _lose_it()

    with pytest.raises(TimeoutError):
        await ask()
