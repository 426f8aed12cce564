"""Log lines never hold up whoever writes them, and have what was written down of their request."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from frontend.observe.logs import LINES, JsonLines, PlainLines, QueuedLines, request_id
from frontend.observe.metrics import LOG_DROPPED
from frontend.observe.record import Stopwatch, begin, current
from tests.conftest import ROOT

LOGS = "from frontend.observe.logs import *; set_up_logging('INFO', 'json'); "


class _Reader:
    """Keeps lines, once it is let go on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.goes_on = threading.Event()

    def write(self, line: str) -> None:
        self.goes_on.wait()
        self.lines.append(line)


@pytest.fixture
def reader() -> _Reader:
    return _Reader()


@pytest.fixture
def logger(reader: _Reader) -> Iterator[logging.Logger]:
    handler = QueuedLines(reader.write, most=10)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    yield logger
    reader.goes_on.set()
    handler.close()


@pytest.mark.parametrize("lines", [JsonLines, PlainLines])
@pytest.mark.parametrize("value", ["half a pair: \ud83d", 2**70, {1: "a"}, {"deep": ["\udc00"]}])
def test_whatever_a_call_gives_is_written(lines: type[logging.Formatter], value: object) -> None:
    record = logging.LogRecord("test", logging.INFO, "", 0, "said %s", ("\ud83d",), None)
    record.fields = {"value": value}
    lines().format(record).encode()


def _logged(code: str) -> list[str]:
    """The lines of a process that runs this."""
    command = [sys.executable, "-c", LOGS + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr.splitlines()


def _wait_for(reader: _Reader, lines: int) -> None:
    deadline = time.monotonic() + 10
    while len(reader.lines) < lines and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_line_is_one_object_with_what_the_call_gave(logger: logging.Logger, reader: _Reader) -> None:
    request_id.set("abc")
    logger.warning("something %s", "happened", extra={"fields": {"model": "m3"}})
    request_id.set("-")
    reader.goes_on.set()
    _wait_for(reader, 1)
    line = json.loads(reader.lines[0])
    assert (line["message"], line["level"], line["request_id"], line["model"]) == (
        "something happened",
        "WARNING",
        "abc",
        "m3",
    )


def test_lines_that_nobody_reads_are_dropped_and_counted(logger: logging.Logger, reader: _Reader) -> None:
    before = LOG_DROPPED._value.get()
    for number in range(100):
        logger.error("line %d", number)
    # Ten wait, and one is being written.
    assert 89 <= LOG_DROPPED._value.get() - before <= 90
    reader.goes_on.set()
    _wait_for(reader, 10)
    assert json.loads(reader.lines[0])["message"] == "line 0"


def test_a_long_text_is_cut(logger: logging.Logger, reader: _Reader) -> None:
    try:
        raise ValueError("x" * 100_000)
    except ValueError:
        logger.exception("y" * 100_000, extra={"fields": {"details": "z" * 100_000}})
    reader.goes_on.set()
    _wait_for(reader, 1)
    assert len(reader.lines[0]) < 20_000


def test_of_a_long_traceback_the_end_is_told(logger: logging.Logger, reader: _Reader) -> None:
    try:
        raise ValueError("x" * 100_000 + "the reason")
    except ValueError:
        logger.exception("failed")
    reader.goes_on.set()
    _wait_for(reader, 1)
    assert json.loads(reader.lines[0])["exception"].endswith("xthe reason")


def test_the_last_lines_are_written_at_the_end() -> None:
    assert len(_logged("[logging.info('line %d', n) for n in range(500)]")) == 500


def test_a_process_ends_though_nobody_reads_its_log() -> None:
    code = LOGS + "[logging.info('x' * 999) for n in range(5000)]"
    reading, writing = os.pipe()
    try:
        ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stderr=writing, check=False, timeout=60)
    finally:
        os.close(reading)
        os.close(writing)
    assert ended.returncode == 0


def test_a_warning_is_a_line_like_any_other() -> None:
    (line,) = _logged("import warnings; warnings.warn('a\\nb\\x1b[2J')")
    assert "a\nb\x1b[2J" in json.loads(line)["message"]


def _record(message: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("quartet", logging.INFO, "", 0, message, (), None)
    record.fields = fields
    return record


def test_a_plain_line_has_names_and_values_and_quotes_what_could_be_taken_for_another() -> None:
    line = PlainLines().format(_record("a request", model="m3", empty="", org='a b="c"\nERROR', seconds=0.5, key=None))
    assert line.split(" ", 1)[1] == (
        'INFO a request request_id=- model=m3 empty="" org="a b=\\"c\\"\\nERROR" seconds=0.5'
    )
    assert "\n" not in PlainLines().format(_record("one\ntwo"))


@pytest.mark.parametrize("form", LINES)
async def test_a_line_of_a_request_that_is_traced_has_the_id_of_its_trace(form: str) -> None:
    begin().trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert "4bf92f3577b34da6a3ce929d0e0e4736" in LINES[form]().format(_record("x"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_goes_on_side_by_side_is_not_counted_twice(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch:
        clock[0] += 1
        with watch:
            clock[0] += 2
        clock[0] += 4
    clock[0] += 8
    with watch:
        clock[0] += 16
        assert watch.seconds == 23
    assert watch.seconds == 23


async def test_tasks_of_a_request_write_to_its_record_and_others_to_none() -> None:
    async def name(model: str) -> None:
        current().model = model

    async def request(model: str) -> str:
        own = begin()
        await asyncio.create_task(name(model))
        return own.model

    assert list(await asyncio.gather(request("a"), request("b"))) == ["a", "b"]
    await name("c")
    assert current().model == ""
