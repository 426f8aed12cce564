import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from frontend.database.engine import DatabaseUrlError, absolute, open_engine, reading
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
