import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.access.registry import Registry
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import WALLETS
from frontend.errors import BadGateway, InsufficientQuota
from frontend.usage import leases
from frontend.usage.books import Books
from frontend.usage.wallets import Wallets
from tests.databases import PostgresServer


def _soon(seconds: float = 5.0) -> float:
    return asyncio.get_running_loop().time() + seconds


@pytest.fixture
async def wallets(engine: AsyncEngine, books: Books) -> Wallets:
    """Of a frontend, where acme has 100."""
    await books.top_up("acme", 100, None)
    return Wallets(engine, "holder")


async def _granted(call: Awaitable[None]) -> bool:
    try:
        await call
    except InsufficientQuota:
        return False
    return True


async def test_what_costs_nothing_is_granted_to_an_empty_wallet(engine: AsyncEngine) -> None:
    await Wallets(engine, "holder").reserve("acme", 0, _soon())


async def test_what_is_released_can_be_reserved_again(wallets: Wallets) -> None:
    await wallets.reserve("acme", 100, _soon())
    wallets.release("acme", 100)
    await wallets.reserve("acme", 100, _soon())


async def test_what_is_charged_cannot_be_reserved_again(engine: AsyncEngine, wallets: Wallets) -> None:
    await wallets.reserve("acme", 100, _soon())
    wallets.spend("acme", 100)
    assert not await _granted(wallets.reserve("acme", 1, _soon()))
    async with engine.begin() as connection:
        await leases.spend(connection, "holder", "acme", 100)
    wallets.written(Counter(acme=100))
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
    done = asyncio.Event()
    tending = asyncio.create_task(_tend(frontends, done))
    calls = (_granted(frontends[number % 2].reserve("acme", 7, _soon(30))) for number in range(200))
    granted = await asyncio.gather(*calls)
    # aiosqlite hangs where its calls are broken off.
    done.set()
    await tending
    assert sum(granted) == 16


async def _tend(frontends: list[Wallets], done: asyncio.Event) -> None:
    while not done.is_set():
        await asyncio.sleep(0.05)
        for wallets in frontends:
            await wallets.tend()


async def test_who_is_overtaken_tries_again(engine: AsyncEngine, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_who_hangs_up_while_the_database_is_asked_holds_nothing(wallets: Wallets) -> None:
    asking = asyncio.create_task(wallets.reserve("acme", 100, _soon()))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await wallets.close()
    await wallets.reserve("acme", 100, _soon())


async def test_while_the_database_is_away_a_lease_is_granted_from(wallets: Wallets, broken: Callable[[], None]) -> None:
    await wallets.reserve("acme", 10, _soon())
    broken()
    await wallets.reserve("acme", 30, _soon())


async def test_beyond_it_a_caller_waits_until_the_deadline(wallets: Wallets, broken: Callable[[], None]) -> None:
    broken()
    with pytest.raises(BadGateway):
        await wallets.reserve("acme", 100, _soon(0.3))


async def test_a_database_that_comes_back_is_noticed_by_those_who_wait(
    wallets: Wallets, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    broken()
    waiting = asyncio.create_task(wallets.reserve("acme", 100, _soon()))
    await asyncio.sleep(0.3)
    mended()
    await waiting


@pytest.fixture
async def rows_apart(postgres: PostgresServer) -> AsyncIterator[AsyncEngine]:
    """A database in which a transaction holds up nobody but those who want the same rows; two wallets of 100."""
    engine = open_engine(postgres.new_database())
    await migrate(engine)
    for org in ("acme", "zenith"):
        await Registry(engine).create_org(org, None)
        await Books(engine).top_up(org, 100, None)
    yield engine
    await engine.dispose()


@asynccontextmanager
async def _slow(engine: AsyncEngine) -> AsyncIterator[None]:
    """Within it, whatever has to do with acme's wallet waits."""
    async with engine.begin() as connection:
        await connection.execute(sa.select(WALLETS).where(WALLETS.c.org == "acme").with_for_update())
        yield


async def test_an_organisation_whose_wallet_is_slow_holds_up_no_other(rows_apart: AsyncEngine) -> None:
    wallets = Wallets(rows_apart, "holder")
    async with _slow(rows_apart):
        waiting = asyncio.create_task(wallets.reserve("acme", 10, _soon(30)))
        await asyncio.sleep(0)
        await wallets.reserve("zenith", 10, _soon())
        assert not waiting.done()
    await waiting


async def test_what_others_want_of_a_wallet_comes_back_while_another_wallet_is_slow(rows_apart: AsyncEngine) -> None:
    holder, other = Wallets(rows_apart, "holder"), Wallets(rows_apart, "other")
    for org in ("acme", "zenith"):
        await holder.reserve(org, 100, _soon())
        holder.release(org, 100)
        async with rows_apart.begin() as connection:
            await leases.take(connection, "other", org, 100)
    async with _slow(rows_apart):
        tending = asyncio.create_task(holder.tend())
        await other.reserve("zenith", 100, _soon())
        assert not tending.done()
    await tending
    await other.reserve("acme", 100, _soon())


@pytest.mark.parametrize("paid_first", [True, False])
async def test_a_lease_is_never_taken_for_more_than_it_is_when_charges_are_written_beside(
    books: Books, wallets: Wallets, monkeypatch: pytest.MonkeyPatch, paid_first: bool
) -> None:
    take = leases.take
    await wallets.reserve("acme", 30, _soon())
    wallets.spend("acme", 30)

    async def beside(connection: AsyncConnection, holder: str, org: str, wanted: int) -> leases.Grant:
        monkeypatch.undo()
        if paid_first:
            await leases.spend(connection, holder, org, 30)
        taken = await take(connection, holder, org, wanted)
        if not paid_first:
            await leases.spend(connection, holder, org, 30)
        wallets.written(Counter(acme=30))
        return taken

    monkeypatch.setattr(leases, "take", beside)
    await wallets.reserve("acme", 40, _soon())
    (lease,) = await books.leases()
    assert wallets._accounts["acme"].lease <= lease.amount
    await wallets.reserve("acme", 30, _soon())
    assert not await _granted(wallets.reserve("acme", 1, _soon()))
