"""The log, as JSON or plain text. A thread writes it, so that a slow reader delays no request."""

import contextlib
import contextvars
import json
import logging
import os
import queue
import re
import sys
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from frontend.observe.hiding import message_of_library, message_of_loop, trace_of, without_credentials
from frontend.observe.metrics import LOG_DROPPED
from frontend.observe.record import current

log = logging.getLogger("quartet")
# Placeholder for lines that belong to no request.
NO_REQUEST = "-"
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default=NO_REQUEST)
_MOST_LINES = 4096  # that wait to be written
# Most characters per text. Together with the number of lines, this bounds the waiting log.
_LONGEST_TEXT = 4000
_CLOSE_SECONDS = 2.0
_STANDARD_ERROR = 2
# Characters that need no quotes in a plain line, since they cannot imitate another line or value.
_PLAIN_WORD = re.compile(r"[!#-<>-~]+")
_PLAIN_TEXT = re.compile(r"[ -!#-~]+")


class Outage:
    """Logs one line when a dependency becomes unavailable and one when it returns."""

    def __init__(self, gone: str, back: str) -> None:
        self._gone, self._back = gone, back
        self.away = False

    def note(self, error: BaseException | None, **fields: object) -> None:
        """Note the result of the last attempt; ``fields`` go with the line."""
        if error is not None and not self.away:
            log.error(self._gone, extra={"fields": {"details": str(error), **fields}})
        elif error is None and self.away:
            log.info(self._back)
        self.away = error is not None

    @contextlib.contextmanager
    def noting(self, failures: tuple[type[Exception], ...]) -> Iterator[None]:
        """Wrap an attempt. Note and suppress any of ``failures``; without one, note success."""
        try:
            yield
        except failures as error:
            self.note(error)
        else:
            self.note(None)


class Lines(logging.Formatter):
    """The fields of a line: time, level, message, request id, trace id and ``extra['fields']`` of the call.

    Only our own messages are written as they are: a library's may have a caller's words.
    """

    def format(self, record: logging.LogRecord) -> str:
        return without_credentials(self._line_of(self.fields_of(record)))

    @abstractmethod
    def _line_of(self, fields: dict[str, Any]) -> str: ...

    def formatException(self, ei: Any) -> str:  # noqa: N802 - as logging calls it
        return trace_of(ei[1]) if ei[1] is not None else ""

    def fields_of(self, record: logging.LogRecord) -> dict[str, Any]:
        """Fields by name, in order. Unknown ones are omitted."""
        own = record.name == log.name
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "message": (record.getMessage() if own else message_of_library(record))[:_LONGEST_TEXT],
            "source": None if own else f"{record.name} {record.filename}:{record.lineno}",
            "request_id": request_id.get(),
            "trace_id": current().trace_id or None,
            **{name: _shortened(value) for name, value in getattr(record, "fields", {}).items()},
        }
        if record.exc_info:
            # Keep the end of a traceback, which has the error.
            line["exception"] = self.formatException(record.exc_info)[-_LONGEST_TEXT:]
        return {name: value for name, value in line.items() if value is not None}


class JsonLines(Lines):
    """One JSON object per line."""

    def _line_of(self, fields: dict[str, Any]) -> str:
        return _json(fields)


class PlainLines(Lines):
    """Time, level and message, then ``name=value``; a value that is not one plain word is a JSON string."""

    def _line_of(self, fields: dict[str, Any]) -> str:
        first = " ".join(_word(fields.pop(name)) for name in ("time", "level"))
        message = _word(fields.pop("message"), _PLAIN_TEXT)
        return " ".join([first, message, *(f"{name}={_word(value)}" for name, value in fields.items())])


LINES: Mapping[str, type[Lines]] = {"json": JsonLines, "plain": PlainLines}


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:
        # orjson refuses lone surrogates and integers of over 64 bits; the standard library accepts both.
        return json.dumps(value, default=str, skipkeys=True)


def _word(value: Any, plain: re.Pattern[str] | None = None) -> str:
    text = str(value)
    return text if (plain or _PLAIN_WORD).fullmatch(text) else _json(text)


def _shortened(value: Any) -> Any:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


class QueuedLines(logging.Handler):
    """Hands lines to a thread that calls ``write``. If the queue is full, it counts and drops the line."""

    def __init__(self, write: Callable[[str], None], most: int = _MOST_LINES) -> None:
        super().__init__()
        self._write = write
        self._lines: queue.Queue[str | None] = queue.Queue(most)
        self._writer = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            LOG_DROPPED.inc()

    def close(self) -> None:
        """Write the remaining lines, unless nobody reads them."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=_CLOSE_SECONDS)
            self._writer.join(_CLOSE_SECONDS)
        super().close()

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            # A closed pipe must not stop the shutdown.
            with contextlib.suppress(OSError):
                self._write(line)


def _to_standard_error(line: str) -> None:
    # Avoid sys.stderr: the interpreter cannot exit while a thread waits inside it.
    data = memoryview(f"{line}\n".encode())
    while data:
        data = data[os.write(_STANDARD_ERROR, data) :]


def set_up_logging(level: str, form: str) -> None:
    """Send every log line to standard error; ``form`` is one of ``LINES``."""
    handler = QueuedLines(_to_standard_error)
    handler.setFormatter(LINES[form]())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Python would write these to standard error, with texts that may have a caller's words.
    warnings.showwarning = _log_warning
    sys.unraisablehook = lambda args: _log_stray(args.exc_value)
    threading.excepthook = lambda args: _log_stray(args.exc_value)
    quieten_libraries()


def _log_warning(
    message: object, category: type[Warning], filename: str, lineno: int, file: object = None, line: object = None
) -> None:
    del message, file, line
    log.warning("a library warns", extra={"fields": {"details": category.__name__, "source": f"{filename}:{lineno}"}})


def _log_stray(error: BaseException | None) -> None:
    log.error("unforeseen error beside the requests", exc_info=error)


def log_of_loop(loop: object, context: Mapping[str, Any]) -> None:
    """Log an error that no code has caught in an event loop, whose own line would show objects and their contents."""
    fields = {"details": message_of_loop(str(context.get("message", "")))}
    log.error("unforeseen error beside the requests", exc_info=context.get("exception"), extra={"fields": fields})


def quieten_libraries() -> None:
    """Silence alembic's message at each start, and aiosqlite's messages with statement contents."""
    for name in ("alembic", "aiosqlite"):
        logging.getLogger(name).setLevel("WARNING")
