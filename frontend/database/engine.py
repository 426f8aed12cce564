"""Opens the database: an SQLite file, or Postgres, behind SQLAlchemy's asyncio interface."""

import os
import time
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import Cursor, OperationalError
from traceback import walk_tb
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, ExceptionContext, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from frontend.observe.metrics import DATABASE_ERRORS, DATABASE_SECONDS

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
# What an address of Postgres may set, by asyncpg's names, SQLAlchemy's and libpq's "sslmode".
_OPTIONS = {
    "ssl",
    "sslmode",
    "direct_tls",
    "host",
    "port",
    "passfile",
    "service",
    "servicefile",
    "krbsrvname",
    "gsslib",
}
_OPTIONS |= {"target_session_attrs", "prepared_statement_cache_size"}
# The errors of a database that is away, locked or lost during a statement.
DATABASE_FAILURES = (SQLAlchemyError, OSError, TimeoutError)
_LIBRARY = "sqlalchemy"
_AUTOCOMMIT = "AUTOCOMMIT"
_BUSY_SECONDS = 5.0
# Compiled statements that a connection keeps. Those of many charges are large, and differ in the number of rows: with
# 128, Python's default, they took 9 MB after 6,000 charges, and more later.
_STATEMENTS = 16
_RETRY_SECONDS = 0.01
_POSTGRES_SECONDS = 5.0
# Keys in the record of a connection: its file, and the start of its statement.
_FILE, _BEGAN = "quartet_file", "quartet_began"


class DatabaseUrlError(ValueError):
    """The database URL cannot be used. The message says why and has no password."""


class SameFile:
    """The file that ``path`` names at this moment. Writes to one that was deleted are lost without an error."""

    def __init__(self, path: Path) -> None:
        self._path, self._status = path, os.stat(path)

    def check(self) -> None:
        """Raise ``OSError`` if the path now names another file, or none."""
        if not os.path.samestat(self._status, os.stat(self._path)):
            raise OSError(f"{self._path} is another file than the one that was opened")


def is_failure(error: Exception) -> bool:
    """Whether an error is one of ``DATABASE_FAILURES`` that the database raised. Drivers raise kinds of their own."""
    below = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    raised = isinstance(error, SQLAlchemyError) or any(name.startswith(_LIBRARY) for name in below)
    return raised and isinstance(error, DATABASE_FAILURES)


def parse_url(url: str) -> URL:
    """Parse ``sqlite:///file`` or ``postgresql://user:password@host/name``. Raises ``DatabaseUrlError``."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseUrlError("not a database URL") from None
    backend = parsed.drivername.partition("+")[0]
    if backend not in _DRIVERS:
        raise DatabaseUrlError("must begin with sqlite:/// or postgresql://")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise DatabaseUrlError("an SQLite database needs a file")
    if backend != "sqlite" and (unknown := sorted(parsed.query.keys() - _OPTIONS)):
        raise DatabaseUrlError(f"has no option {unknown[0]}; there are {', '.join(sorted(_OPTIONS))}")
    return parsed.set(drivername=_DRIVERS[backend])


def absolute(url: str) -> str:
    """The URL with an absolute path of an SQLite file."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return url
    return str(parsed.set(database=str(Path(parsed.database).absolute())))


def check_exists(url: str) -> None:
    """Raise ``DatabaseUrlError`` if the SQLite file is missing; opening it would create it."""
    parsed = parse_url(url)
    path = Path(str(parsed.database)).absolute()
    if parsed.get_backend_name() == "sqlite" and not path.is_file():
        raise DatabaseUrlError(f"there is no {path}; build/demo.env names that of 'make run', and 'serve' makes one")


def open_engine(url: str, connections: int = 4) -> AsyncEngine:
    """Open an engine. An SQLite file is created on demand; Postgres gets a pool of ``connections``.

    A transaction (``engine.begin()``) of SQLite takes the write lock at once, because taking it later can fail
    without waiting. Use ``reading`` for reads.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == "postgresql":
        if "sslmode" in parsed.query:
            # Most addresses have this name of libpq. asyncpg calls it ssl.
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
        connect = {"timeout": _BUSY_SECONDS, "cached_statements": _STATEMENTS}
        engine = create_async_engine(parsed, connect_args=connect, hide_parameters=True)
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_immediate)
        _refuse_another_file(engine.sync_engine, path)
    _measure(engine.sync_engine)
    return engine


def reading(engine: AsyncEngine) -> AsyncEngine:
    """The same engine for reads. Its connections begin no transaction, so they wait for no writer."""
    return engine.execution_options(isolation_level=_AUTOCOMMIT)


def _prepare_sqlite(connection: SqliteConnection, record: object) -> None:
    # Without this, the driver would guess where a transaction begins. ``_begin_immediate`` begins it.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _refuse_another_file(engine: Engine, path: Path) -> None:
    """Refuse to write to a file that was deleted or replaced while open, and to create a new one.

    A file restored from a backup is opened.
    """
    opened = False

    def connect(*arguments: object) -> None:
        if opened:
            # SQLite would create an empty file.
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
    """Switch to the write-ahead log. SQLite does not wait if several connections do this to a new file."""
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


def _measure(engine: Engine) -> None:
    """Count and time the statements of an engine, and count its failures, including failed connections."""
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "before_cursor_execute", _begin)
    event.listen(engine, "after_cursor_execute", _end)
    event.listen(engine, "handle_error", _fail)


def _connect(dialect: Dialect, record: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    # ``handle_error`` does not receive a refused connection.
    try:
        return dialect.connect(*arguments, **named)
    except (OSError, TimeoutError):
        DATABASE_ERRORS.inc()
        raise


def _begin(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
    connection.info[_BEGAN] = time.perf_counter()


def _end(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
    DATABASE_SECONDS.observe(time.perf_counter() - connection.info[_BEGAN])


def _fail(context: ExceptionContext) -> None:
    DATABASE_ERRORS.inc()
