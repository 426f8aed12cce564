import asyncio
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.database import migrate as module
from frontend.database.engine import (
    DATABASE_FAILURES,
    DatabaseUrlError,
    _write_ahead,
    absolute,
    is_failure,
    open_engine,
    reading,
)
from frontend.database.migrate import MigrationError, migrate, newest
from frontend.database.tables import metadata
from tests.databases import PostgresServer
from tests.eventually import until
from tests.samples import Change


@pytest.mark.parametrize(
    "url", ["", "quartet", "mysql://a/b", "sqlite://", "sqlite:///:memory:", "postgresql://a/b?application_name=c"]
)
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUrlError):
        open_engine(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"])
def test_all_schemes_of_postgres_are_accepted(scheme: str) -> None:
    assert open_engine(f"{scheme}://a:b@host/name").url.drivername == "postgresql+asyncpg"


def test_the_ssl_mode_of_libpq_is_translated() -> None:
    assert dict(open_engine("postgresql://a:b@host/name?sslmode=require").url.query) == {"ssl": "require"}


async def _failure_of(url: str) -> Exception:
    engine, others = open_engine(url), set(threading.enumerate())
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except Exception as error:
        return error
    finally:
        await engine.dispose()
        # The thread of a SQLite connection that failed still calls the event loop.
        await until(lambda: others.issuperset(threading.enumerate()))
    raise AssertionError("it answers")


async def test_a_failure_of_the_database_is_told_from_others_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontend.database.engine._POSTGRES_SECONDS", 0.2)
    with socket.socket() as silent, socket.socket() as closed:
        for each in (silent, closed):
            each.bind(("127.0.0.1", 0))
        silent.listen()
        ports = [each.getsockname()[1] for each in (silent, closed)]
        failures = [await _failure_of(f"postgresql://a:b@127.0.0.1:{port}/name") for port in ports]
    assert [isinstance(failure, TimeoutError | ConnectionRefusedError) for failure in failures] == [True, True]
    (tmp_path / "folder").mkdir()
    failures.append(await _failure_of(f"sqlite:///{tmp_path}/folder"))
    assert all(map(is_failure, failures))
    for other in (OSError("a disk"), TimeoutError(), ValueError()):
        assert not is_failure(other)


async def test_reads_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    async with engine.begin() as writing:
        await writing.execute(text("CREATE TABLE things (name TEXT)"))
    async with engine.begin() as writing, asyncio.timeout(2):
        await writing.execute(text("INSERT INTO things VALUES ('one')"))
        async with reading(engine).connect() as reader:
            assert await reader.scalar(text("SELECT count(*) FROM things")) == 0
    await engine.dispose()


async def test_an_sqlite_connection_checks_foreign_keys_and_syncs_every_commit(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    async with engine.connect() as connection:
        values = [await connection.scalar(text(f"PRAGMA {name}")) for name in ("foreign_keys", "synchronous")]
    assert values == [1, 2]
    await engine.dispose()


def test_a_new_file_waits_for_another_connection_that_sets_its_log_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cursor, busy = MagicMock(), sqlite3.OperationalError("database is locked")
    cursor.execute.side_effect = [busy, busy, None]
    _write_ahead(cursor)
    assert cursor.execute.call_count == 3
    monkeypatch.setattr("frontend.database.engine._BUSY_SECONDS", -1)
    cursor.execute.side_effect = [busy, None]
    with pytest.raises(sqlite3.OperationalError):
        _write_ahead(cursor)


async def test_postgres_gets_the_configured_number_of_connections() -> None:
    engine = open_engine("postgresql://quartet@localhost/quartet", connections=9)
    assert engine.pool.size() == 9  # type: ignore[attr-defined]
    await engine.dispose()


async def test_a_connection_that_the_server_has_closed_is_replaced(postgres: PostgresServer) -> None:
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
def test_an_sqlite_url_gets_an_absolute_path(url: str, everywhere: str) -> None:
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


async def test_a_deleted_file_takes_no_writes_and_is_not_created_again(tmp_path: Path) -> None:
    path = tmp_path / "quartet.sqlite3"
    engine = await _engine_of(path)
    path.unlink()
    for _ in range(2):
        with pytest.raises(DATABASE_FAILURES):
            await _write(engine)
    assert not path.exists()
    await engine.dispose()


async def test_a_transaction_fails_if_the_file_is_deleted_before_its_commit(tmp_path: Path) -> None:
    path = tmp_path / "quartet.sqlite3"
    engine = await _engine_of(path)
    with pytest.raises(DATABASE_FAILURES):
        await _write(engine, meanwhile=path.unlink)
    await engine.dispose()


async def test_a_file_that_replaces_the_old_one_is_opened(tmp_path: Path) -> None:
    path, saved = tmp_path / "quartet.sqlite3", tmp_path / "saved.sqlite3"
    await (await _engine_of(saved)).dispose()
    engine = await _engine_of(path)
    saved.rename(path)
    await _write(engine)
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT name FROM things").fetchall() == [("one",)]
    await engine.dispose()


async def test_the_migrations_create_the_tables(empty_database: str) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    engine = open_engine(empty_database)
    await migrate(engine)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


def test_the_newest_migration_is_the_head_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(module._SCRIPTS))
    assert newest() == ScriptDirectory.from_config(config).get_current_head()


async def test_frontends_that_start_together_migrate_once(empty_database: str) -> None:
    engines = [open_engine(empty_database) for _ in range(4)]
    await asyncio.gather(*(migrate(engine) for engine in engines))
    async with engines[0].connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM alembic_version"))).scalar() == 1
    for engine in engines:
        await engine.dispose()


@pytest.mark.parametrize("revision", ["0007", "9999"])
async def test_a_database_of_an_older_or_newer_version_is_refused_with_what_to_do(
    empty_database: str, revision: str
) -> None:
    engine = open_engine(empty_database)
    await migrate(engine)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(MigrationError, match="another version .*: run that version, or name a new database"):
        await migrate(engine)
    await engine.dispose()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no database at all" * 100)
    engine = open_engine(f"sqlite:///{tmp_path}/broken")
    with pytest.raises(MigrationError, match="cannot be used"):
        await migrate(engine)
    await engine.dispose()


async def test_a_migration_of_an_unreachable_server_fails_without_its_password() -> None:
    engine = open_engine("postgresql://quartet:secret@127.0.0.1:1/quartet")
    with pytest.raises(MigrationError) as refused:
        await migrate(engine)
    assert "secret" not in str(refused.value)
    await engine.dispose()


async def test_every_statement_is_timed_and_every_failure_counted(empty_database: str) -> None:
    engine = open_engine(empty_database)
    answered, failed = Change("quartet_database_seconds_count"), Change("quartet_database_errors_total")
    async with engine.connect() as connection:
        # It begins a transaction.
        await connection.execute(text("SELECT 1"))
        before = answered.by
        for _ in range(3):
            await connection.execute(text("SELECT 1"))
        assert (answered.by - before, failed.by) == (3, 0)
        with pytest.raises(SQLAlchemyError):
            await connection.execute(text("SELECT nothing FROM nowhere"))
        assert (answered.by - before, failed.by) == (3, 1)
    await engine.dispose()


async def test_a_failed_connection_is_counted() -> None:
    engine, failed = open_engine("postgresql://a:b@127.0.0.1:1/none"), Change("quartet_database_errors_total")
    with pytest.raises((SQLAlchemyError, OSError)):
        async with engine.connect():
            pass
    assert failed.by == 1
    await engine.dispose()
