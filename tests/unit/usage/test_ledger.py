import asyncio
import random

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.database.tables import USAGE_DAYS, USAGE_EVENTS
from frontend.usage import leases
from frontend.usage.books import Books
from frontend.usage.ledger import Ledger
from tests.unit.usage.conftest import event

_DAY = 86_400


async def _total(engine: AsyncEngine) -> tuple[int, int]:
    """(rows, micro-CHF) of all charges."""
    async with engine.connect() as connection:
        row = (await connection.execute(select(func.count(), func.sum(USAGE_EVENTS.c.amount)))).one()
        return row[0], int(row[1] or 0)


async def _lease(engine: AsyncEngine, holder: str, amount: int) -> None:
    async with engine.begin() as connection:
        await leases.take(connection, holder, "acme", amount)


async def test_a_charge_is_written_once_however_often_it_comes(engine: AsyncEngine) -> None:
    ledger = Ledger(engine, "holder")
    for _ in range(3):
        await ledger.write([event("a"), event("b")])
    assert await _total(engine) == (2, 10)


async def test_sums_by_day_count_a_charge_once(engine: AsyncEngine) -> None:
    ledger = Ledger(engine, "holder")
    await ledger.write([event("a", at=10), event("b", at=_DAY)])
    await ledger.write([event("a", at=10), event("c", 7, at=20)])
    async with engine.connect() as connection:
        rows = await connection.execute(select(USAGE_DAYS.c.day, USAGE_DAYS.c.requests, USAGE_DAYS.c.amount))
        assert sorted(map(tuple, rows)) == [("1970-01-01", 2, 12), ("1970-01-02", 1, 5)]


async def test_a_charge_is_paid_from_the_lease(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    await _lease(engine, "holder", 60)
    assert await Ledger(engine, "holder").write([event("a", 25)]) == {"acme": 35}
    assert await books.balance("acme") == 75


async def test_a_charge_that_comes_again_is_paid_once(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    await _lease(engine, "holder", 60)
    for _ in range(3):
        await Ledger(engine, "holder").write([event("a", 25)])
    assert await books.balance("acme") == 75


async def test_a_charge_that_no_wallet_pays_is_only_recorded(engine: AsyncEngine, books: Books) -> None:
    await books.top_up("acme", 100, None)
    await Ledger(engine, "holder").write([event("a", 25, prepaid=False)])
    assert (await books.balance("acme"), await _total(engine)) == (100, (1, 25))


async def test_a_lease_that_was_given_up_is_paid_by_the_wallet_down_to_nothing(
    engine: AsyncEngine, books: Books
) -> None:
    await books.top_up("acme", 30, None)
    await Ledger(engine, "lost").write([event("a", 25), event("b", 25)])
    assert await books.balance("acme") == 0


async def test_writers_of_the_same_charges_in_any_order_do_not_deadlock(engine: AsyncEngine) -> None:
    events = [event(f"{number}", org="acme" if number % 2 else "zenith", prepaid=False) for number in range(60)]

    async def replay(seed: int) -> None:
        order = random.Random(seed)
        for _ in range(5):
            await Ledger(engine, f"holder{seed}").write(order.sample(events, 40))

    await asyncio.gather(*(replay(seed) for seed in range(4)))
    await Ledger(engine, "last").write(events)
    assert await _total(engine) == (60, 300)
