import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.usage.queries import UsageQueries
from frontend.billing.charges import Charges, Spool
from frontend.billing.ledger import IdempotencyWindow, Numbered
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import USAGE_EVENTS
from frontend.errors import InsufficientQuota
from frontend.observe.metrics import USAGE_UNWRITABLE
from tests.eventually import until
from tests.unit.billing.conftest import FullDisk, event, reserved


async def _written(engine: AsyncEngine) -> list[str]:
    async with engine.connect() as connection:
        return sorted(await connection.scalars(select(USAGE_EVENTS.c.id)))


async def _until_written(engine: AsyncEngine, ids: list[str]) -> None:
    async with asyncio.timeout(5):
        # Somebody else writes them: there is nothing to be told by.
        while await _written(engine) != ids:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def _soon() -> float:
    return asyncio.get_running_loop().time() + 30


@pytest.fixture
async def charges(engine: AsyncEngine, tmp_path: Path) -> AsyncIterator[Charges]:
    started = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await started.start()
    yield started
    await started.close()


async def _pay(charges: Charges) -> None:
    """Charge one answer that costs acme 30."""
    charges.add(event("a", 30, await charges.wallets.reserve("acme", 30, _soon())))


async def test_at_the_end_everything_is_written_and_no_file_is_left(engine: AsyncEngine, tmp_path: Path) -> None:
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await charges.start()
    for name in "abc":
        charges.add(event(name, prepaid=False))
    await charges.close()
    assert (await _written(engine), list((tmp_path / "usage").iterdir())) == (["a", "b", "c"], [])


async def test_reservations_end_with_their_frontend(engine: AsyncEngine, queries: UsageQueries, tmp_path: Path) -> None:
    await queries.top_up("acme", 100, None)
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await _pay(charges)
    await charges.wallets.reserve("acme", 20, _soon())
    await charges.close()
    assert (await queries.balance("acme"), await reserved(engine)) == (70, [])


async def test_a_repeated_request_costs_the_wallet_nothing_more(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path
) -> None:
    await queries.top_up("acme", 100, None)
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await charges.start()
    for _ in range(2):
        await _pay(charges)
    await charges.wallets.reserve("acme", 70, _soon())
    await charges.close()
    assert await queries.balance("acme") == 70


async def test_charges_of_a_dead_frontend_are_settled_at_the_start(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path
) -> None:
    await queries.top_up("acme", 100, None)
    dead = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await dead.wallets.reserve("acme", 60, _soon())
    await _pay(dead)
    dead._spool.close()
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await charges.start()
    assert (await _written(engine), await queries.balance("acme"), await reserved(engine)) == (["a"], 70, [])
    await charges.close()


async def test_while_the_database_is_away_charges_wait_and_none_is_lost(
    charges: Charges, engine: AsyncEngine, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    broken()
    for name in "abc":
        charges.add(event(name, prepaid=False))
    await asyncio.sleep(0.5)
    mended()
    await _until_written(engine, ["a", "b", "c"])


async def test_charges_that_come_during_a_transaction_wait_for_the_next_move(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charges, sizes = Charges(engine, tmp_path / "usage", IdempotencyWindow()), list[int]()
    write = charges._ledger.write

    async def write_slowly(batch: Sequence[Numbered]) -> None:
        sizes.append(len(batch))
        await write(batch)
        if len(sizes) < 5:
            charges.add(event(f"later {len(sizes)}", prepaid=False))

    monkeypatch.setattr(charges._ledger, "write", write_slowly)
    for number in range(600):
        charges.add(event(str(number), prepaid=False))
    await charges._move()
    # The charge that came during the first transactions fills the last batch.
    assert sizes == [250, 250, 102]
    await charges._move()
    assert sizes == [250, 250, 102, 1]
    await charges.close()
    assert len(await _written(engine)) == 604


async def test_an_end_while_the_database_is_away_leaves_charges_for_the_next_start(
    engine: AsyncEngine, tmp_path: Path, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    charges.add(event("a", prepaid=False))
    broken()
    await charges.close()
    mended()
    (orphan,) = Spool.orphans(tmp_path / "usage")
    assert orphan.oldest(9) == [(1, event("a", prepaid=False))]
    orphan.close()


def _may_begin(charges: Charges) -> tuple[bool, bool]:
    """Whether work may begin, by the charges and by its metric."""
    return charges.can_add, USAGE_UNWRITABLE._value.get() == 0


def _charge_many(charges: Charges) -> None:
    for number in range(100):
        charges.add(event(str(number), prepaid=False))


async def test_after_a_charge_that_found_the_disk_full_no_work_begins_until_there_is_room(charges: Charges) -> None:
    with FullDisk(charges._spool):
        with pytest.raises(sqlite3.OperationalError, match="full"):
            _charge_many(charges)
        assert not charges.can_add
        await charges._check()
        assert _may_begin(charges) == (False, False)
    await charges._check()
    assert _may_begin(charges) == (True, True)


async def test_no_work_begins_on_an_unwritable_spool(charges: Charges, caplog: pytest.LogCaptureFixture) -> None:
    charges._spool._database.execute("PRAGMA query_only=1")
    for _ in range(2):
        await charges._check()
    assert _may_begin(charges) == (False, False)
    assert [record.message for record in caplog.records].count(charges._disk._gone) == 1
    charges._spool._database.execute("PRAGMA query_only=0")
    await charges._check()
    assert _may_begin(charges) == (True, True)


async def test_no_work_begins_after_the_spool_file_was_deleted(
    charges: Charges, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for path in (tmp_path / "usage").iterdir():
        path.unlink()
    await charges._check()
    assert _may_begin(charges) == (False, False)
    assert [record.message for record in caplog.records].count(charges._disk._gone) == 1


async def test_charges_wait_on_disk_while_the_database_file_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, aside = tmp_path / "quartet.sqlite3", tmp_path / "aside.sqlite3"
    engine = open_engine(f"sqlite:///{path}")
    await migrate(engine)
    charges = Charges(engine, tmp_path / "usage", IdempotencyWindow())
    await charges.start()
    path.rename(aside)
    charges.add(event("one", prepaid=False))
    gone = charges._database._gone
    await until(lambda: gone in [record.message for record in caplog.records])
    assert len(charges._spool) == 1
    aside.rename(path)
    await _until_written(engine, ["one"])
    await charges.close()
    await engine.dispose()


async def test_an_unwritable_spool_raises_a_clear_error(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(OSError, match=r"cannot be written .*disk is full"):
        Charges(engine, tmp_path / "usage", IdempotencyWindow())


async def test_frontends_that_reserve_charge_and_repeat_at_random_never_grant_more_than_there_is(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await queries.top_up("acme", 3_000, None)
    frontends = [Charges(engine, tmp_path / str(number), IdempotencyWindow(answers=2)) for number in range(2)]
    for charges in frontends:
        await charges.start()
    draw = random.Random(7)

    async def call(number: int) -> None:
        charges, amount = frontends[number % 2], draw.randint(1, 90)
        # Two in three are the first of their request; the others are repeats, which the ledger may not count.
        name = f"{number}" if number % 3 else f"{number // 12}"
        await asyncio.sleep(draw.random())
        try:
            reservation = await charges.wallets.reserve("acme", amount, _soon())
        except InsufficientQuota:
            return
        await asyncio.sleep(draw.random() / 4)
        if draw.random() < 0.3:
            charges.wallets.release("acme", reservation)
        else:
            charges.add(event(name, amount, reservation))

    await asyncio.gather(*(call(number) for number in range(150)))
    for charges in frontends:
        await charges.close()
    async with engine.connect() as connection:
        charged = sum(await connection.scalars(select(USAGE_EVENTS.c.amount)))
    assert await queries.balance("acme") == 3_000 - charged
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
