"""Metrics of database statements and failures."""

import time
from typing import Any

from sqlalchemy import Dialect, Engine, ExceptionContext, event

from frontend.observe.metrics import DATABASE_ERRORS, DATABASE_SECONDS

# The key of a statement's start time in the connection's record.
_BEGAN = "quartet_began"


def watch(engine: Engine) -> None:
    """Count every statement and every failure of an engine, including failed connections."""
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "before_cursor_execute", _begin)
    event.listen(engine, "after_cursor_execute", _end)
    event.listen(engine, "handle_error", _fail)


def _connect(dialect: Dialect, record: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    # A server that nobody listens for is no error of the driver's, which the last listener hears of.
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
