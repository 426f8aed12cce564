import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.billing import wallets as module
from frontend.billing.wallets import Wallets, settle
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import RESERVATIONS, WALLETS
from frontend.errors import BadGateway, InsufficientQuota
from tests.databases import PostgresServer
from tests.unit.billing.conftest import event, reserved, write


def _soon(seconds: float = 5.0) -> float:
    return asyncio.get_running_loop().time() + seconds


@pytest.fixture
async def wallets(engine: AsyncEngine, queries: UsageQueries) -> AsyncIterator[Wallets]:
    """The wallets of a frontend. That of acme has 100."""
    await queries.top_up("acme", 100, None)
    opened = Wallets(engine, "holder")
    yield opened
    await opened.close()


async def _granted(call: Awaitable[str]) -> bool:
    try:
        await call
    except InsufficientQuota:
        return False
    return True


async def _pay(engine: AsyncEngine, reservation: str, cost: int) -> None:
    """Settle a reservation as the ledger does."""
    async with engine.begin() as connection:
        await settle(connection, RESERVATIONS.c.id == reservation, Counter(acme=cost))


async def _free(engine: AsyncEngine) -> int:
    """The money in acme's wallet that is not reserved."""
    async with engine.connect() as connection:
        return int(await connection.scalar(sa.select(WALLETS.c.balance).where(WALLETS.c.org == "acme")) or 0)


async def test_what_is_owed_is_taken_from_other_reservations(engine: AsyncEngine, queries: UsageQueries) -> None:
    await queries.top_up("acme", 100, None)
    wallets, deadline = Wallets(engine, "holder"), asyncio.get_running_loop().time() + 5
    first, second, third = [await wallets.reserve("acme", amount, deadline) for amount in (10, 30, 40)]
    await write(engine, event("a", 85, first))
    # 100 less 85 are 15, all of them reserved.
    assert (await queries.balance("acme"), sum(await reserved(engine))) == (15, 15)
    wallets.release("acme", third)
    with pytest.raises(InsufficientQuota):
        await wallets.reserve("acme", 16, deadline)
    await write(engine, event("b", 30, second))
    await wallets.close()
    assert (await queries.balance("acme"), await reserved(engine)) == (0, [])


async def test_free_work_needs_no_database(engine: AsyncEngine, broken: Callable[[], None]) -> None:
    broken()
    assert await Wallets(engine, "holder").reserve("acme", 0, _soon()) == ""


async def test_without_a_wallet_nothing_is_granted(engine: AsyncEngine) -> None:
    assert not await _granted(Wallets(engine, "holder").reserve("acme", 1, _soon()))


async def test_released_money_can_be_reserved_at_once(wallets: Wallets) -> None:
    for _ in range(3):
        wallets.release("acme", await wallets.reserve("acme", 100, _soon()))


async def test_reserved_money_cannot_be_reserved_again(engine: AsyncEngine, wallets: Wallets) -> None:
    await wallets.reserve("acme", 91, _soon())
    assert [await _granted(wallets.reserve("acme", amount, _soon())) for amount in (10, 9)] == [False, True]
    assert (await reserved(engine), await _free(engine)) == ([9, 91], 0)


async def test_reservations_are_released_in_batches(
    engine: AsyncEngine, wallets: Wallets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontend.billing.wallets._RELEASED_AT_ONCE", 2)
    for reservation in [await wallets.reserve("acme", 10, _soon()) for _ in range(5)]:
        wallets.release("acme", reservation)
    await wallets.close()
    assert (await reserved(engine), await _free(engine)) == ([], 100)


@pytest.mark.parametrize(("cost", "left"), [(60, 40), (20, 80), (100, 0), (101, 0)])
async def test_a_wallet_pays_the_cost_down_to_zero(
    engine: AsyncEngine, queries: UsageQueries, wallets: Wallets, caplog: pytest.LogCaptureFixture, cost: int, left: int
) -> None:
    await _pay(engine, await wallets.reserve("acme", 60, _soon()), cost)
    assert (await queries.balance("acme"), await reserved(engine)) == (left, [])
    assert [record.message for record in caplog.records] == ["charged beyond a wallet"] * (cost > 100)


async def test_a_waiting_request_gets_money_that_is_released(engine: AsyncEngine, wallets: Wallets) -> None:
    reservation = await wallets.reserve("acme", 100, _soon())
    waiting = asyncio.create_task(wallets.reserve("acme", 90, _soon()))
    await asyncio.sleep(0.2)
    await _pay(engine, reservation, 10)
    await waiting


async def test_a_top_up_ends_a_refusal(queries: UsageQueries, wallets: Wallets) -> None:
    assert not await _granted(wallets.reserve("acme", 110, _soon()))
    await queries.top_up("acme", 10, None)
    assert await _granted(wallets.reserve("acme", 110, _soon()))


async def test_two_frontends_never_grant_more_than_a_wallet_has(
    empty_database: str, engine: AsyncEngine, queries: UsageQueries
) -> None:
    await queries.top_up("acme", 16 * 7, None)
    other = open_engine(empty_database)
    frontends = [Wallets(engine, "one"), Wallets(other, "two")]
    calls = (_granted(frontends[number % 2].reserve("acme", 7, _soon(30))) for number in range(200))
    assert sum(await asyncio.gather(*calls)) == 16
    assert (await reserved(engine), await _free(engine)) == ([7] * 16, 0)
    await other.dispose()


async def test_cancelled_reservations_leave_nothing_reserved(engine: AsyncEngine, wallets: Wallets) -> None:
    draw = random.Random(7)

    async def hang_up() -> None:
        asking = asyncio.create_task(wallets.reserve("acme", 3, _soon()))
        await asyncio.sleep(draw.random() / 20)
        asking.cancel()
        if isinstance(answer := (await asyncio.gather(asking, return_exceptions=True))[0], str):
            wallets.release("acme", answer)

    await asyncio.gather(*(hang_up() for _ in range(60)))
    await wallets.close()
    assert (await reserved(engine), await _free(engine)) == ([], 100)


async def test_while_the_database_is_away_a_caller_waits_until_the_deadline(
    wallets: Wallets, broken: Callable[[], None]
) -> None:
    broken()
    with pytest.raises(BadGateway):
        await wallets.reserve("acme", 100, _soon(0.3))


async def test_a_wallet_that_cannot_be_read_is_waited_for_within_seconds(
    wallets: Wallets, broken: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.3)
    broken()
    began = time.monotonic()
    with pytest.raises(BadGateway):
        await wallets.reserve("acme", 100, _soon(300))
    assert time.monotonic() - began < 2


async def test_a_request_begins_only_while_the_database_answers(
    wallets: Wallets, broken: Callable[[], None], mended: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLOW_SECONDS", 0.2)
    # A wallet without work is ready, and so is one whose work is quick.
    await wallets.ready("acme")
    reservation = await wallets.reserve("acme", 100, _soon())
    broken()
    waiting = asyncio.create_task(wallets.reserve("acme", 100, _soon()))
    wallets.release("acme", reservation)
    await asyncio.sleep(0.1)
    await wallets.ready("acme")
    await asyncio.sleep(0.3)
    beginning = asyncio.create_task(wallets.ready("acme"))
    await wallets.ready("zenith")
    await asyncio.sleep(0.3)
    assert not beginning.done()
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.1)
    with pytest.raises(BadGateway):
        await wallets.ready("acme")
    mended()
    await waiting
    await beginning


async def test_waiting_requests_continue_when_the_database_returns(
    wallets: Wallets, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    reservation = await wallets.reserve("acme", 100, _soon())
    broken()
    waiting = asyncio.create_task(wallets.reserve("acme", 100, _soon()))
    wallets.release("acme", reservation)
    await asyncio.sleep(0.3)
    mended()
    await waiting


async def test_a_commit_without_an_answer_reserves_once(
    engine: AsyncEngine, wallets: Wallets, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = type(engine).begin

    @asynccontextmanager
    async def deaf(self: AsyncEngine) -> AsyncIterator[object]:
        monkeypatch.undo()
        async with begin(self) as connection:
            yield connection
        raise ConnectionResetError("the server has gone away")

    monkeypatch.setattr(type(engine), "begin", deaf)
    await wallets.reserve("acme", 60, _soon())
    assert (await reserved(engine), await _free(engine)) == ([60], 40)


async def test_an_end_while_the_database_is_away_waits_for_nothing(
    wallets: Wallets, broken: Callable[[], None]
) -> None:
    reservation = await wallets.reserve("acme", 60, _soon())
    broken()
    wallets.release("acme", reservation)
    async with asyncio.timeout(5):
        await wallets.close()


async def _pass(engine: AsyncEngine, seconds: int) -> None:
    """Let this much time pass for all reservations."""
    async with engine.begin() as connection:
        change = sa.update(RESERVATIONS).values(expires_at=RESERVATIONS.c.expires_at - seconds)
        await connection.execute(change)


async def test_a_reservation_expires_an_hour_after_the_deadline(wallets: Wallets, engine: AsyncEngine) -> None:
    await wallets.reserve("acme", 60, _soon(100))
    told = []
    for seconds in (3_690, 20):
        await _pass(engine, seconds)
        await wallets.end_expired()
        told.append((await reserved(engine), await _free(engine)))
    assert told == [([60], 40), ([], 100)]


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_frontend_with_a_wrong_clock_ends_no_reservation_early_and_none_late(
    wallets: Wallets, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    await wallets.reserve("acme", 60, _soon(100))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3_600 * hours)
    other = Wallets(engine, "other")
    await other.end_expired()
    assert await reserved(engine) == [60]
    await other.reserve("acme", 40, _soon(100))
    monkeypatch.undo()
    await wallets.end_expired()
    assert await reserved(engine) == [40, 60]
    await _pass(engine, 3_710)
    await wallets.end_expired()
    assert await reserved(engine) == []


async def test_a_living_frontend_keeps_its_reservations_as_long_as_it_takes(
    wallets: Wallets, engine: AsyncEngine
) -> None:
    await wallets.reserve("acme", 60, _soon(100))
    await Wallets(engine, "lost").reserve("acme", 10, _soon(100))
    for _ in range(5):
        await _pass(engine, 2_000)
        await wallets.renew()
        await wallets.end_expired()
    assert await reserved(engine) == [60]


@pytest.fixture
async def rows_apart(postgres: PostgresServer) -> AsyncIterator[AsyncEngine]:
    """PostgreSQL, which locks rows and not the whole database, with two wallets of 100."""
    engine = open_engine(postgres.new_database())
    await migrate(engine)
    for org in ("acme", "zenith"):
        await Registry(engine).create_org(org, None)
        await UsageQueries(engine).top_up(org, 100, None)
    yield engine
    await engine.dispose()


async def test_a_slow_wallet_delays_no_other(rows_apart: AsyncEngine) -> None:
    wallets = Wallets(rows_apart, "holder")
    async with rows_apart.begin() as connection:
        await connection.execute(sa.select(WALLETS).where(WALLETS.c.org == "acme").with_for_update())
        waiting = asyncio.create_task(wallets.reserve("acme", 10, _soon(30)))
        await asyncio.sleep(0)
        await wallets.reserve("zenith", 10, _soon())
        assert not waiting.done()
    await waiting
