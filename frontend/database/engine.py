"""Opens the database: an SQLite file, or Postgres, behind SQLAlchemy's asyncio interface."""

import os
import time
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import Cursor, OperationalError

from sqlalchemy import URL, Connection, Engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from frontend.database.same_file import SameFile
from frontend.database.watch import watch

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
# What a database raises that is away, locked or gone in the middle.
DATABASE_FAILURES = (SQLAlchemyError, OSError, TimeoutError)
_AUTOCOMMIT = "AUTOCOMMIT"
_BUSY_SECONDS = 5.0
_RETRY_SECONDS = 0.01
_POSTGRES_SECONDS = 5.0
# Where a connection's file is kept, beside what the driver keeps of it.
_FILE = "quartet_file"


class DatabaseUrlError(ValueError):
    """The address of the database cannot be used; the message says why and holds no password."""


def parse_url(url: str) -> URL:
    """``sqlite:///file`` or ``postgresql://user:password@host/name``, with the driver that we use."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseUrlError("not a database URL") from None
    backend = parsed.drivername.partition("+")[0]
    if backend not in _DRIVERS:
        raise DatabaseUrlError("must begin with sqlite:/// or postgresql://")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise DatabaseUrlError("an SQLite database needs a file")
    return parsed.set(drivername=_DRIVERS[backend])


def absolute(url: str) -> str:
    """The same address in any folder: an SQLite file by its whole path."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return url
    return str(parsed.set(database=str(Path(parsed.database).absolute())))


def check_there(url: str) -> None:
    """``DatabaseUrlError`` where the file of SQLite, which opening makes on demand, is not there."""
    parsed = parse_url(url)
    path = Path(str(parsed.database)).absolute()
    if parsed.get_backend_name() == "sqlite" and not path.is_file():
        raise DatabaseUrlError(f"there is no {path}; build/demo.env names that of 'make run', and 'serve' makes one")


def open_engine(url: str, connections: int = 4) -> AsyncEngine:
    """An engine for an address; the file of SQLite is made on demand, of Postgres so many ``connections`` are had.

    A transaction (``engine.begin()``) of SQLite takes the write lock at once, since one that only asks for it later
    can fail without waiting; what only reads goes by ``reading``.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == "postgresql":
        if "sslmode" in parsed.query:
            # libpq's name, which most addresses have, for what asyncpg calls ssl.
            parsed = parsed.update_query_dict({"ssl": parsed.query["sslmode"]}).difference_update_query(["sslmode"])
        limits = {"timeout": _POSTGRES_SECONDS, "command_timeout": _POSTGRES_SECONDS}
        engine = create_async_engine(
            parsed,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=_POSTGRES_SECONDS,
            pool_pre_ping=True,
            connect_args=limits,
            hide_parameters=True,
        )
    else:
        path = Path(str(parsed.database)).absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        engine = create_async_engine(parsed, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_immediate)
        _keep_to_the_file(engine.sync_engine, path)
    watch(engine.sync_engine)
    return engine


def reading(engine: AsyncEngine) -> AsyncEngine:
    """The same engine for what only reads: a connection of it begins no transaction, and so waits for no writer."""
    return engine.execution_options(isolation_level=_AUTOCOMMIT)


def _prepare_sqlite(connection: SqliteConnection, record: object) -> None:
    # The driver's own guess of where a transaction begins is switched off; _begin_immediate says it.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _keep_to_the_file(engine: Engine, path: Path) -> None:
    """Nothing is written to a file that was deleted or replaced while it was open, and none is made in its place.

    One that has come in its place, from a backup, is opened as it is.
    """
    opened = False

    def connect(*arguments: object) -> None:
        if opened:
            # SQLite would make an empty one.
            os.stat(path)

    def note(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:
        nonlocal opened
        opened, record.info[_FILE] = True, SameFile(path)

    def check_out(connection: SqliteConnection, record: ConnectionPoolEntry, proxy: object) -> None:
        try:
            record.info[_FILE].check()
        except OSError as error:
            raise DisconnectionError from error

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", note)
    event.listen(engine, "checkout", check_out)
    event.listen(engine, "commit", lambda connection: connection.info[_FILE].check())


def _write_ahead(cursor: Cursor) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself when several connections do that to a new file."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _begin_immediate(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") == _AUTOCOMMIT:
        return
    connection.exec_driver_sql("BEGIN IMMEDIATE")
