import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.usage.queries import UsageQueries
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import USAGE_EVENTS
from frontend.errors import InsufficientQuota
from frontend.observe.metrics import USAGE_UNWRITABLE
from frontend.usage.ledger import IdempotencyWindow, Placed
from frontend.usage.recorder import Recorder
from frontend.usage.spool import Spool
from tests.eventually import until
from tests.unit.usage.conftest import FullDisk, event, reserved


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
async def recorder(engine: AsyncEngine, tmp_path: Path) -> AsyncIterator[Recorder]:
    started = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await started.start()
    yield started
    await started.close()


async def _pay(recorder: Recorder) -> None:
    """Charge one answer that costs acme 30."""
    recorder.charge(event("a", 30, await recorder.wallets.reserve("acme", 30, _soon())))


async def test_at_the_end_everything_is_written_and_no_file_is_left(engine: AsyncEngine, tmp_path: Path) -> None:
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await recorder.start()
    for name in "abc":
        recorder.charge(event(name, prepaid=False))
    await recorder.close()
    assert (await _written(engine), list((tmp_path / "usage").iterdir())) == (["a", "b", "c"], [])


async def test_reservations_end_when_the_recorder_closes(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path
) -> None:
    await queries.top_up("acme", 100, None)
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await _pay(recorder)
    await recorder.wallets.reserve("acme", 20, _soon())
    await recorder.close()
    assert (await queries.balance("acme"), await reserved(engine)) == (70, [])


async def test_a_repeated_request_costs_the_wallet_nothing_more(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path
) -> None:
    await queries.top_up("acme", 100, None)
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await recorder.start()
    for _ in range(2):
        await _pay(recorder)
    await recorder.wallets.reserve("acme", 70, _soon())
    await recorder.close()
    assert await queries.balance("acme") == 70


async def test_charges_of_a_dead_frontend_are_settled_at_the_start(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path
) -> None:
    await queries.top_up("acme", 100, None)
    dead = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await dead.wallets.reserve("acme", 60, _soon())
    await _pay(dead)
    dead._spool.close()
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await recorder.start()
    assert (await _written(engine), await queries.balance("acme"), await reserved(engine)) == (["a"], 70, [])
    await recorder.close()


async def test_while_the_database_is_away_charges_wait_and_none_is_lost(
    recorder: Recorder, engine: AsyncEngine, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    broken()
    for name in "abc":
        recorder.charge(event(name, prepaid=False))
    await asyncio.sleep(0.5)
    mended()
    await _until_written(engine, ["a", "b", "c"])


async def test_charges_that_come_during_a_transaction_wait_for_the_next_move(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, sizes = Recorder(engine, tmp_path / "usage", IdempotencyWindow()), list[int]()
    write = recorder._ledger.write

    async def write_slowly(batch: Sequence[Placed]) -> None:
        sizes.append(len(batch))
        await write(batch)
        if len(sizes) < 5:
            recorder.charge(event(f"later {len(sizes)}", prepaid=False))

    monkeypatch.setattr(recorder._ledger, "write", write_slowly)
    for number in range(250):
        recorder.charge(event(str(number), prepaid=False))
    await recorder._move()
    # The charge that came during the first transactions fills the last batch.
    assert sizes == [100, 100, 52]
    await recorder._move()
    assert sizes == [100, 100, 52, 1]
    await recorder.close()
    assert len(await _written(engine)) == 254


async def test_an_end_while_the_database_is_away_leaves_charges_for_the_next_start(
    engine: AsyncEngine, tmp_path: Path, broken: Callable[[], None], mended: Callable[[], None]
) -> None:
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    recorder.charge(event("a", prepaid=False))
    broken()
    await recorder.close()
    mended()
    (orphan,) = Spool.orphans(tmp_path / "usage")
    assert orphan.oldest(9) == [(1, event("a", prepaid=False))]
    orphan.close()


def _may_begin(recorder: Recorder) -> tuple[bool, bool]:
    """Whether work may begin, by the recorder and by its metric."""
    return recorder.can_charge, USAGE_UNWRITABLE._value.get() == 0


def _charge_many(recorder: Recorder) -> None:
    for number in range(100):
        recorder.charge(event(str(number), prepaid=False))


async def test_after_a_charge_that_found_the_disk_full_no_work_begins_until_there_is_room(recorder: Recorder) -> None:
    with FullDisk(recorder._spool):
        with pytest.raises(sqlite3.OperationalError, match="full"):
            _charge_many(recorder)
        assert not recorder.can_charge
        await recorder._check()
        assert _may_begin(recorder) == (False, False)
    await recorder._check()
    assert _may_begin(recorder) == (True, True)


async def test_no_work_begins_on_an_unwritable_spool(recorder: Recorder, caplog: pytest.LogCaptureFixture) -> None:
    recorder._spool._database.execute("PRAGMA query_only=1")
    for _ in range(2):
        await recorder._check()
    assert _may_begin(recorder) == (False, False)
    assert [record.message for record in caplog.records].count(recorder._disk._gone) == 1
    recorder._spool._database.execute("PRAGMA query_only=0")
    await recorder._check()
    assert _may_begin(recorder) == (True, True)


async def test_no_work_begins_after_the_spool_file_was_deleted(
    recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for path in (tmp_path / "usage").iterdir():
        path.unlink()
    await recorder._check()
    assert _may_begin(recorder) == (False, False)
    assert [record.message for record in caplog.records].count(recorder._disk._gone) == 1


async def test_charges_wait_on_disk_while_the_database_file_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, aside = tmp_path / "quartet.sqlite3", tmp_path / "aside.sqlite3"
    engine = open_engine(f"sqlite:///{path}")
    await migrate(engine)
    recorder = Recorder(engine, tmp_path / "usage", IdempotencyWindow())
    await recorder.start()
    path.rename(aside)
    recorder.charge(event("one", prepaid=False))
    gone = recorder._database._gone
    await until(lambda: gone in [record.message for record in caplog.records])
    assert len(recorder._spool) == 1
    aside.rename(path)
    await _until_written(engine, ["one"])
    await recorder.close()
    await engine.dispose()


async def test_an_unwritable_spool_raises_a_clear_error(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(OSError, match=r"cannot be written .*disk is full"):
        Recorder(engine, tmp_path / "usage", IdempotencyWindow())


async def test_frontends_that_reserve_charge_and_repeat_at_random_never_grant_more_than_there_is(
    engine: AsyncEngine, queries: UsageQueries, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await queries.top_up("acme", 3_000, None)
    recorders = [Recorder(engine, tmp_path / str(number), IdempotencyWindow(answers=2)) for number in range(2)]
    for recorder in recorders:
        await recorder.start()
    draw = random.Random(7)

    async def call(number: int) -> None:
        recorder, amount = recorders[number % 2], draw.randint(1, 90)
        # Two in three are the first of their request; the others are repeats, which the ledger may not count.
        name = f"{number}" if number % 3 else f"{number // 12}"
        await asyncio.sleep(draw.random())
        try:
            reservation = await recorder.wallets.reserve("acme", amount, _soon())
        except InsufficientQuota:
            return
        await asyncio.sleep(draw.random() / 4)
        if draw.random() < 0.3:
            recorder.wallets.release("acme", reservation)
        else:
            recorder.charge(event(name, amount, reservation))

    await asyncio.gather(*(call(number) for number in range(150)))
    for recorder in recorders:
        await recorder.close()
    async with engine.connect() as connection:
        charged = sum(await connection.scalars(select(USAGE_EVENTS.c.amount)))
    assert await queries.balance("acme") == 3_000 - charged
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
