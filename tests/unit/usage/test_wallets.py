import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.errors import ApiError, BadGateway, InsufficientQuota
from frontend.usage.books import Books
from frontend.usage.wallets import Wallets


def _soon(seconds: float = 5.0) -> float:
    return asyncio.get_running_loop().time() + seconds


async def _granted(call: Awaitable[None]) -> bool:
    try:
        await call
    except InsufficientQuota:
        return False
    return True


async def test_what_there_is_can_be_reserved(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    wallets = Wallets(engine, "holder")
    await wallets.reserve("acme", 60, _soon())
    await wallets.reserve("acme", 40, _soon())


async def test_what_there_is_not_is_refused_in_the_contracts_words(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    with pytest.raises(InsufficientQuota) as refused:
        await Wallets(engine, "holder").reserve("acme", 101, _soon())
    assert (refused.value.status, refused.value.type) == (429, "insufficient_quota")


async def test_what_costs_nothing_is_granted_to_an_empty_wallet(engine: AsyncEngine) -> None:
    await Wallets(engine, "holder").reserve("acme", 0, _soon())


async def test_what_is_released_can_be_reserved_again(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    wallets = Wallets(engine, "holder")
    await wallets.reserve("acme", 100, _soon())
    wallets.release("acme", 100)
    await wallets.reserve("acme", 100, _soon())


async def test_what_is_charged_cannot_be_reserved_again(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    wallets = Wallets(engine, "holder")
    await wallets.reserve("acme", 100, _soon())
    wallets.spend("acme", 100)
    assert not await _granted(wallets.reserve("acme", 1, _soon()))


async def test_a_top_up_ends_a_refusal(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 1, None)
    wallets = Wallets(engine, "holder")
    assert not await _granted(wallets.reserve("acme", 10, _soon()))
    await books.top_up("acme", 9, None)
    await asyncio.sleep(0.6)
    assert await _granted(wallets.reserve("acme", 10, _soon()))


async def test_two_hundred_callers_of_two_frontends_get_what_sixteen_cost(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 16 * 7, None)
    frontends = [Wallets(engine, "one"), Wallets(engine, "two")]
    tending = asyncio.create_task(_tend(frontends))
    calls = (_granted(frontends[number % 2].reserve("acme", 7, _soon(30))) for number in range(200))
    granted = await asyncio.gather(*calls)
    tending.cancel()
    assert sum(granted) == 16


async def _tend(frontends: list[Wallets]) -> None:
    while True:
        await asyncio.sleep(0.05)
        for wallets in frontends:
            await wallets.tend()


async def test_who_was_overtaken_tries_again(
    engine: AsyncEngine, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    await books.top_up("acme", 25, None)
    wallets, ask, quicker = Wallets(engine, "holder"), Wallets._ask, [True]

    async def overtaken(self: Wallets, org: str, account: Any, amount: int) -> int | None:
        answer = await ask(self, org, account, amount)
        if quicker:
            quicker.clear()
            await self.reserve(org, amount, _soon())
        return answer

    monkeypatch.setattr(Wallets, "_ask", overtaken)
    await wallets.reserve("acme", 10, _soon())


async def test_what_one_frontend_does_not_need_another_gets(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    one, two = Wallets(engine, "one"), Wallets(engine, "two")
    await one.reserve("acme", 100, _soon())
    one.release("acme", 100)
    asking = asyncio.create_task(two.reserve("acme", 100, _soon()))
    await asyncio.sleep(0.2)
    await one.tend()
    await asking


async def test_who_hangs_up_while_the_database_is_asked_holds_nothing(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    wallets = Wallets(engine, "holder")
    asking = asyncio.create_task(wallets.reserve("acme", 100, _soon()))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await wallets.close()
    await wallets.reserve("acme", 100, _soon())


async def test_while_the_database_is_away_a_lease_is_granted_from(
    engine: AsyncEngine, books: Books, broken: Callable[[], None]
) -> None:
    await books.top_up("acme", 100, None)
    wallets = Wallets(engine, "holder")
    await wallets.reserve("acme", 10, _soon())
    broken()
    await wallets.reserve("acme", 30, _soon())


async def test_beyond_it_a_caller_waits_until_the_deadline(
    engine: AsyncEngine, books: Books, broken: Callable[[], None]
) -> None:
    await books.top_up("acme", 100, None)
    broken()
    with pytest.raises(BadGateway):
        await Wallets(engine, "holder").reserve("acme", 100, _soon(0.3))


async def test_a_database_that_comes_back_is_noticed_by_those_who_wait(
    engine: AsyncEngine, books: Books, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    await books.top_up("acme", 100, None)
    broken()
    waiting = asyncio.create_task(Wallets(engine, "holder").reserve("acme", 100, _soon()))
    await asyncio.sleep(0.3)
    mended()
    try:
        await waiting
    except ApiError:
        pytest.fail("the caller was refused")
