import asyncio
from typing import Any

import pytest
from sqlalchemy import delete, insert
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key, change_log
from frontend.access.change_log import Change, ChangeLog
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.database.tables import AUDIT
from tests.unit.access.conftest import create_key


@pytest.fixture
def registry(engine: AsyncEngine) -> Registry:
    return Registry(engine)


@pytest.fixture
async def log(registry: Registry) -> ChangeLog:
    await create_key(registry)
    log = ChangeLog(registry)
    assert await log.read() is None
    return log


async def _id(registry: Registry, key: str) -> str:
    return (await registry.find([api_key.digest(key)]))[api_key.digest(key)].id


async def _insert(engine: AsyncEngine, *ids: int, **values: Any) -> None:
    row = {"at": 0, "actor": "", "origin": "", "action": "org.change", "details": "{}"}
    async with engine.begin() as connection:
        await connection.execute(insert(AUDIT), [{**row, "id": number, "target": f"org {number}"} for number in ids])


async def test_each_change_is_read_once(registry: Registry, log: ChangeLog, engine: AsyncEngine) -> None:
    assert await log.read() == []
    await registry.create_org("acme", None)
    key = await create_key(registry, org="acme")
    key_id = await _id(registry, key)
    await registry.change_org("acme", 5)
    await UsageQueries(engine).top_up("acme", 100, None)
    await registry.change(api_key.prefix(key), {"tier": "pro"}, {})
    await registry.rotate(api_key.prefix(key), 60)
    await registry.revoke(api_key.prefix(key))
    acme, own = Change(org="acme"), Change(key_id=key_id)
    assert await log.read() == [acme, own, acme, Change(org="acme", is_credit=True), own, own, own]
    assert await log.read() == []


async def test_more_changes_than_one_query_returns_are_read_in_order(
    engine: AsyncEngine, log: ChangeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "_BATCH", 4)
    await _insert(engine, *range(2, 9))
    read = [await log.read() for _ in range(4)]
    assert read == [[Change(org=f"org {number}") for number in numbers] for numbers in ((2, 3, 4), (5, 6, 7), (8,), ())]


async def test_a_change_that_is_committed_after_later_ones_is_read(engine: AsyncEngine, log: ChangeLog) -> None:
    await _insert(engine, 2, 5)
    assert await log.read() == [Change(org="org 2"), Change(org="org 5")]
    await _insert(engine, 4, 6)
    assert await log.read() == [Change(org="org 4"), Change(org="org 6")]
    await _insert(engine, 3)
    assert (await log.read(), await log.read()) == ([Change(org="org 3")], [])


async def test_a_change_that_is_committed_after_the_start_is_read(registry: Registry, engine: AsyncEngine) -> None:
    await _insert(engine, 1, 3)
    log = ChangeLog(registry)
    assert await log.read() is None
    await _insert(engine, 2)
    assert await log.read() == [Change(org="org 2")]


async def test_ids_that_never_come_are_not_asked_for_for_ever(
    engine: AsyncEngine, log: ChangeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "_COMMIT_SECONDS", 0.05)
    await _insert(engine, 1_000_000)
    assert await log.read() == [Change(org="org 1000000")]
    assert len(log._missing) == 1_000
    await asyncio.sleep(0.1)
    assert await log.read() == []
    assert not log._missing


async def test_after_the_database_was_restored_anything_may_have_changed(engine: AsyncEngine, log: ChangeLog) -> None:
    await _insert(engine, 2, 3)
    await log.read()
    async with engine.begin() as connection:
        await connection.execute(delete(AUDIT).where(AUDIT.c.id > 1))
    assert [await log.read() for _ in range(3)] == [None, None, []]
    await _insert(engine, 2)
    assert await log.read() == [Change(org="org 2")]


async def test_a_log_without_changes_is_read(registry: Registry, engine: AsyncEngine) -> None:
    log = ChangeLog(registry)
    assert [await log.read() for _ in range(2)] == [None, []]
    await _insert(engine, 1)
    assert await log.read() == [Change(org="org 1")]
