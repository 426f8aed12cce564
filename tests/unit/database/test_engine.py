import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.database.engine import DATABASE_FAILURES, DatabaseUrlError, absolute, open_engine, reading
from tests.databases import PostgresServer


@pytest.mark.parametrize("url", ["", "quartet", "mysql://a/b", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUrlError):
        open_engine(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"])
def test_every_name_of_postgres_is_taken(scheme: str) -> None:
    assert open_engine(f"{scheme}://a:b@host/name").url.drivername == "postgresql+asyncpg"


def test_the_ssl_mode_of_libpq_is_passed_on() -> None:
    assert dict(open_engine("postgresql://a:b@host/name?sslmode=require").url.query) == {"ssl": "require"}


async def test_who_only_reads_does_not_wait_for_who_writes(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    async with engine.begin() as writing:
        await writing.execute(text("CREATE TABLE things (name TEXT)"))
    async with engine.begin() as writing, asyncio.timeout(2):
        await writing.execute(text("INSERT INTO things VALUES ('one')"))
        async with reading(engine).connect() as reader:
            assert await reader.scalar(text("SELECT count(*) FROM things")) == 0
    await engine.dispose()


async def test_postgres_is_given_as_many_connections_as_are_set() -> None:
    engine = open_engine("postgresql://quartet@localhost/quartet", connections=9)
    assert engine.pool.size() == 9  # type: ignore[attr-defined]
    await engine.dispose()


async def test_a_connection_that_the_database_has_ended_meanwhile_is_none(postgres: PostgresServer) -> None:
    address = postgres.new_database()
    engine = open_engine(address, connections=1)
    async with engine.connect() as connection:
        await connection.execute(text("SELECT 1"))
    with postgres.refusing(address):
        pass
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT 2")) == 2
    await engine.dispose()


@pytest.mark.parametrize(
    ("url", "everywhere"),
    [
        ("sqlite:///data/q.sqlite3", "sqlite:///{here}/data/q.sqlite3"),
        ("sqlite:////data/q.sqlite3", "sqlite:////data/q.sqlite3"),
        ("postgresql://a:b%40@host/name?sslmode=require", "postgresql://a:b%40@host/name?sslmode=require"),
    ],
)
def test_a_file_of_sqlite_is_the_same_in_any_folder(url: str, everywhere: str) -> None:
    assert absolute(url) == everywhere.format(here=Path.cwd())


async def _engine_of(path: Path) -> AsyncEngine:
    engine = open_engine(f"sqlite:///{path}")
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE things (name TEXT)"))
    return engine


async def _write(engine: AsyncEngine, meanwhile: Callable[[], None] = lambda: None) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("INSERT INTO things VALUES ('one')"))
        meanwhile()


async def test_a_file_that_was_deleted_takes_no_writes_and_none_is_made_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "quartet.sqlite3"
    engine = await _engine_of(path)
    path.unlink()
    for _ in range(2):
        with pytest.raises(DATABASE_FAILURES):
            await _write(engine)
    assert not path.exists()
    await engine.dispose()


async def test_what_was_begun_before_the_file_was_deleted_is_not_taken_for_written(tmp_path: Path) -> None:
    path = tmp_path / "quartet.sqlite3"
    engine = await _engine_of(path)
    with pytest.raises(DATABASE_FAILURES):
        await _write(engine, meanwhile=path.unlink)
    await engine.dispose()


async def test_a_file_that_was_put_into_the_place_of_another_is_used(tmp_path: Path) -> None:
    path, saved = tmp_path / "quartet.sqlite3", tmp_path / "saved.sqlite3"
    await (await _engine_of(saved)).dispose()
    engine = await _engine_of(path)
    saved.rename(path)
    await _write(engine)
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT name FROM things").fetchall() == [("one",)]
    await engine.dispose()
