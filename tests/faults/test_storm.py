"""The ledger is exact whatever is killed, full or away, and no caller notices that the database is locked."""

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import func, select

from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from tests.conftest import KEY, bearer
from tests.databases import PostgresServer, locked
from tests.disks import small_disk
from tests.faults.storm.storm import Size, storm
from tests.frontends import prepare, running

# Longer than SQLite waits.
_LOCKED_SECONDS = 7.0


@pytest.fixture
def away(empty_database: str, request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """Within it the database is locked, or refuses connections and has ended those there were."""
    if empty_database.startswith("sqlite"):
        return locked(empty_database)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.refusing(empty_database)


async def test_every_delivered_answer_is_charged_once_whatever_is_killed_full_or_away(
    empty_database: str, away: AbstractContextManager[None], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "usage") as disk:
        if disk is None:
            pytest.skip("this machine lets nobody mount a file system of their own")
        outcome = await storm(empty_database, tmp_path, disk, away, Size(requests=150, kills=2, full=0.5, away=2.0))
    assert outcome.faults == []


async def test_while_sqlite_is_locked_no_request_fails_and_no_charge_is_lost(tmp_path: Path) -> None:
    statuses, database = list[int](), f"sqlite:///{tmp_path}/quartet.sqlite3"

    async def call(session: aiohttp.ClientSession) -> None:
        async with session.post("/v1/embeddings", json={"input": "a"}) as response:
            statuses.append(response.status)

    with running(await asyncio.to_thread(prepare, tmp_path, database)) as frontend:
        async with aiohttp.ClientSession(frontend.address, headers=bearer(KEY)) as session:
            await call(session)
            with locked(database):
                for _ in range(int(_LOCKED_SECONDS * 20)):
                    await call(session)
                    await asyncio.sleep(0.05)
            await call(session)
        assert set(statuses) == {200}
        assert await _charges(database, len(statuses)) == len(statuses)


async def _charges(database: str, wanted: int) -> int:
    """How many there are, once there are as many as wanted or time is up."""
    engine = open_engine(database)
    count = 0
    async with engine.connect() as connection:
        for _ in range(200):
            count = await connection.scalar(select(func.count()).select_from(USAGE_EVENTS)) or 0
            if count >= wanted:
                break
            await connection.rollback()
            await asyncio.sleep(0.1)
    await engine.dispose()
    return count
