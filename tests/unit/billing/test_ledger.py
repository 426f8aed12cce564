import asyncio
import random
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.usage.queries import UsageQueries
from frontend.billing.ledger import Charge, IdempotencyWindow, Ledger, Numbered
from frontend.billing.wallets import Wallets
from frontend.database.tables import USAGE_DAYS, USAGE_EVENTS, USAGE_SPOOLS
from tests.unit.billing.conftest import event, reserved

_DAY = 86_400


async def _total(engine: AsyncEngine) -> tuple[int, int]:
    """(rows, micro-CHF) of all charges."""
    async with engine.connect() as connection:
        row = (await connection.execute(select(func.count(), func.sum(USAGE_EVENTS.c.amount)))).one()
        return row[0], int(row[1] or 0)


@pytest.fixture
async def queries(engine: AsyncEngine, queries: UsageQueries) -> UsageQueries:
    """The wallet of acme has 100."""
    await queries.top_up("acme", 100, None)
    return queries


@pytest.fixture
async def reservation(engine: AsyncEngine, queries: UsageQueries) -> str:
    """A reservation of 60 by the holder."""
    return await Wallets(engine, "holder").reserve("acme", 60, asyncio.get_running_loop().time() + 5)


def _ledger(engine: AsyncEngine, holder: str = "holder") -> Ledger:
    return Ledger(engine, holder, IdempotencyWindow(seconds=600, answers=3))


def _numbered(*events: Charge, start: int = 1) -> list[Numbered]:
    """Charges with places as a spool returns them."""
    return list(enumerate(events, start))


async def test_a_charge_that_a_spool_sends_again_is_written_once(engine: AsyncEngine) -> None:
    ledger = _ledger(engine)
    for _ in range(5):
        await ledger.write(_numbered(event("a"), event("b")))
    assert await _total(engine) == (2, 10)


async def test_another_spool_counts_for_itself(engine: AsyncEngine) -> None:
    await _ledger(engine, "first").write(_numbered(event("a"), event("b")))
    await _ledger(engine, "second").write(_numbered(event("c")))
    assert await _total(engine) == (3, 15)


async def _answers(engine: AsyncEngine) -> list[int]:
    """The number of answers that each charge paid for."""
    async with engine.connect() as connection:
        columns = USAGE_EVENTS.c
        return list(await connection.scalars(select(columns.answers).order_by(columns.identity, columns.ordinal)))


async def test_a_request_that_is_repeated_is_charged_again_at_every_fourth_answer(engine: AsyncEngine) -> None:
    await _ledger(engine).write(_numbered(*(event("a", at=second) for second in range(10))))
    assert await _answers(engine) == [3, 3, 3, 1]
    assert await _total(engine) == (4, 20)


async def test_repeats_are_counted_over_batches_and_over_frontends(engine: AsyncEngine) -> None:
    for number in range(10):
        await _ledger(engine, f"holder{number}").write(_numbered(event("a")))
    assert await _answers(engine) == [3, 3, 3, 1]


async def test_a_request_that_is_repeated_too_late_is_charged_again(engine: AsyncEngine) -> None:
    events = (event("a", at=at) for at in (0, 600, 601, 1_201))
    await _ledger(engine).write(_numbered(*events))
    assert await _answers(engine) == [2, 2]


async def test_an_answer_that_is_brought_late_is_a_repeat_all_the_same(engine: AsyncEngine) -> None:
    await _ledger(engine, "quick").write(_numbered(event("a", at=500)))
    await _ledger(engine, "slow").write(_numbered(event("a", at=0)))
    assert await _answers(engine) == [2]


async def test_sums_by_day_count_a_charge_once(engine: AsyncEngine) -> None:
    ledger = _ledger(engine)
    await ledger.write(_numbered(event("a", at=10), event("b", at=_DAY)))
    await ledger.write(_numbered(event("a", at=10), event("c", 7, at=20), start=3))
    async with engine.connect() as connection:
        rows = await connection.execute(select(USAGE_DAYS.c.day, USAGE_DAYS.c.requests, USAGE_DAYS.c.amount))
        assert sorted(map(tuple, rows)) == [("1970-01-01", 2, 12), ("1970-01-02", 1, 5)]


@pytest.fixture
def _in_zurich() -> Iterator[None]:
    """A time zone in which the next day begins before midnight in UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "CET-1")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_in_zurich")
async def test_days_are_in_utc(engine: AsyncEngine) -> None:
    await _ledger(engine).write(_numbered(event("a", at=_DAY - 1800)))
    async with engine.connect() as connection:
        assert list(await connection.scalars(select(USAGE_DAYS.c.day))) == ["1970-01-01"]


async def test_a_charge_ends_its_reservation(engine: AsyncEngine, queries: UsageQueries, reservation: str) -> None:
    await _ledger(engine).write(_numbered(event("a", 25, reservation), event("b", 5)))
    assert (await reserved(engine), await queries.balance("acme")) == ([], 70)


async def test_a_charge_ends_all_its_reservations(engine: AsyncEngine, queries: UsageQueries, reservation: str) -> None:
    loop = asyncio.get_running_loop()
    more = await Wallets(engine, "holder").reserve("acme", 10, loop.time() + 5)
    await _ledger(engine).write(_numbered(event("a", 25, f"{reservation},{more}")))
    assert (await reserved(engine), await queries.balance("acme")) == ([], 75)


async def test_a_repeat_costs_nothing_and_ends_its_reservation(
    engine: AsyncEngine, queries: UsageQueries, reservation: str
) -> None:
    await _ledger(engine).write(_numbered(event("a", 25), event("a", 25, reservation)))
    assert (await reserved(engine), await queries.balance("acme")) == ([], 75)


async def test_a_repeated_write_takes_money_once(engine: AsyncEngine, queries: UsageQueries, reservation: str) -> None:
    for _ in range(3):
        await _ledger(engine).write(_numbered(event("a", 25, reservation)))
    assert await queries.balance("acme") == 75


async def test_a_charge_that_no_wallet_pays_is_only_recorded(engine: AsyncEngine, queries: UsageQueries) -> None:
    await _ledger(engine).write(_numbered(event("a", 25, prepaid=False)))
    assert (await queries.balance("acme"), await _total(engine)) == (100, (1, 25))


async def test_a_charge_ends_no_other_reservation_but_takes_from_it_what_the_wallet_lacks(
    engine: AsyncEngine, queries: UsageQueries, reservation: str
) -> None:
    await _ledger(engine, "late").write(_numbered(event("a", 25, "ended by itself"), event("b", 25)))
    # 40 were free. The other 10 would come back with the end of the reservation.
    assert (await reserved(engine), await queries.balance("acme")) == ([50], 50)


async def test_concurrent_writers_of_the_same_requests_do_not_deadlock(engine: AsyncEngine) -> None:
    names = [f"{number}" for number in range(60)]

    async def write(seed: int) -> None:
        order = random.Random(seed)
        shuffled = [event(name, org="acme" if int(name) % 2 else "zenith", prepaid=False) for name in names]
        order.shuffle(shuffled)
        for start in range(0, 60, 15):
            await _ledger(engine, f"holder{seed}").write(_numbered(*shuffled[start : start + 15], start=start + 1))

    await asyncio.gather(*(write(seed) for seed in range(4)))
    # Four answers to each of sixty requests: the fourth is charged again.
    assert await _total(engine) == (120, 600)
    assert sum(await _answers(engine)) == 240


async def test_a_holder_that_ends_leaves_nothing(engine: AsyncEngine, queries: UsageQueries, reservation: str) -> None:
    ledger = _ledger(engine)
    await ledger.write(_numbered(event("a", 25)))
    await ledger.end()
    assert (await reserved(engine), await queries.balance("acme")) == ([], 75)
    async with engine.connect() as connection:
        assert list(await connection.scalars(select(USAGE_SPOOLS.c.holder))) == []
