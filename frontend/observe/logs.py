"""The log: lines of JSON, written by a thread, so that whoever reads standard error too slowly holds up nobody."""

import contextlib
import contextvars
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import orjson

from frontend.observe.metrics import LOG_DROPPED

log = logging.getLogger("quartet")
# The id of the request that a line belongs to.
NO_REQUEST = "-"
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default=NO_REQUEST)
_MOST_LINES = 4096
# Bounds what waits, with the number of lines.
_LONGEST_TEXT = 4000
_LAST_WORDS_SECONDS = 2.0
_STANDARD_ERROR = 2


class Outage:
    """Whether something is away; one line in the log when it goes, one when it is back."""

    def __init__(self, gone: str, back: str) -> None:
        self._gone, self._back = gone, back
        self.away = False

    def note(self, error: BaseException | None, **fields: object) -> None:
        """What the last try came to; ``fields`` go with the line."""
        if error is not None and not self.away:
            log.error(self._gone, extra={"fields": {"details": str(error), **fields}})
        elif error is None and self.away:
            log.info(self._back)
        self.away = error is not None


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, message, request id, and what the call gave in ``extra['fields']``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "message": record.getMessage()[:_LONGEST_TEXT],
            "request_id": request_id.get(),
            **{name: _shortened(value) for name, value in getattr(record, "fields", {}).items()},
        }
        if record.exc_info:
            # The last lines say what happened.
            line["exception"] = self.formatException(record.exc_info)[-_LONGEST_TEXT:]
        return orjson.dumps(line, default=str).decode()


def _shortened(value: Any) -> Any:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


class QueuedLines(logging.Handler):
    """Hands lines to a thread that calls ``write``; one for which there is no room is counted and dropped."""

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
        """Write what is left, unless nobody reads it."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=_LAST_WORDS_SECONDS)
            self._writer.join(_LAST_WORDS_SECONDS)
        super().close()

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            # A reader that has gone is no reason to end.
            with contextlib.suppress(OSError):
                self._write(line)


def _to_standard_error(line: str) -> None:
    # Not through sys.stderr: the interpreter could not end while a thread waits inside of that.
    data = memoryview(f"{line}\n".encode())
    while data:
        data = data[os.write(_STANDARD_ERROR, data) :]


def set_up_logging(level: str) -> None:
    """Send every log line to standard error as JSON."""
    handler = QueuedLines(_to_standard_error)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # What a library warns of may hold a caller's words: it is a line like any other, not raw text.
    logging.captureWarnings(True)
    # It tells of every start that there is nothing to migrate.
    logging.getLogger("alembic").setLevel("WARNING")
