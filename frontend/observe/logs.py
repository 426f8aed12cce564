"""The log: lines of JSON or plain text, written by a thread, so that who reads them too slowly holds up nobody."""

import contextlib
import contextvars
import json
import logging
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from frontend.observe.metrics import LOG_DROPPED
from frontend.observe.record import current

log = logging.getLogger("quartet")
# The id of the request that a line belongs to.
NO_REQUEST = "-"
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default=NO_REQUEST)
_MOST_LINES = 4096
# Bounds what waits, with the number of lines.
_LONGEST_TEXT = 4000
_LAST_WORDS_SECONDS = 2.0
_STANDARD_ERROR = 2
# What a plain line has without quotes: it cannot be taken for another line, or another value.
_PLAIN_WORD = re.compile(r"[!#-<>-~]+")
_PLAIN_TEXT = re.compile(r"[ -!#-~]+")


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

    @contextlib.contextmanager
    def noting(self, failures: tuple[type[Exception], ...]) -> Iterator[None]:
        """Around a try: one of ``failures`` is noted and goes no further; without one, it is back."""
        try:
            yield
        except failures as error:
            self.note(error)
        else:
            self.note(None)


class Lines(logging.Formatter):
    """What is told in a line: time, level, message, the ids of the request and its trace, and what the call gave in
    ``extra['fields']``."""

    def told(self, record: logging.LogRecord) -> dict[str, Any]:
        """By name, in the order of the line; what is not known is left out."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "message": record.getMessage()[:_LONGEST_TEXT],
            "request_id": request_id.get(),
            "trace_id": current().trace_id or None,
            **{name: _shortened(value) for name, value in getattr(record, "fields", {}).items()},
        }
        if record.exc_info:
            # The last lines say what happened.
            line["exception"] = self.formatException(record.exc_info)[-_LONGEST_TEXT:]
        return {name: value for name, value in line.items() if value is not None}


class JsonLines(Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return _json(self.told(record))


class PlainLines(Lines):
    """Time, level and message, then ``name=value``; a value that is not one plain word is a JSON string."""

    def format(self, record: logging.LogRecord) -> str:
        line = self.told(record)
        first = " ".join(_word(line.pop(name)) for name in ("time", "level"))
        message = _word(line.pop("message"), _PLAIN_TEXT)
        return " ".join([first, message, *(f"{name}={_word(value)}" for name, value in line.items())])


LINES: Mapping[str, type[Lines]] = {"json": JsonLines, "plain": PlainLines}


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:
        # Half of a surrogate pair, or an integer of more than 64 bits: the standard library escapes the one and takes
        # the other.
        return json.dumps(value, default=str, skipkeys=True)


def _word(value: Any, plain: re.Pattern[str] | None = None) -> str:
    text = str(value)
    return text if (plain or _PLAIN_WORD).fullmatch(text) else _json(text)


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


def set_up_logging(level: str, form: str) -> None:
    """Send every log line to standard error, in one of the forms of ``LINES``."""
    handler = QueuedLines(_to_standard_error)
    handler.setFormatter(LINES[form]())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # What a library warns of may hold a caller's words: it is a line like any other, not raw text.
    logging.captureWarnings(True)
    quieten_libraries()


def quieten_libraries() -> None:
    """Let alembic tell of no start that there is nothing to migrate, and aiosqlite of no statement what is in it."""
    for name in ("alembic", "aiosqlite"):
        logging.getLogger(name).setLevel("WARNING")
