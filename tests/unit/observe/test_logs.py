"""Log lines block nobody, and have the facts of their request."""

import asyncio
import json
import logging
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
    """Keeps lines, after a test lets it go on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.goes_on = threading.Event()

    def write(self, line: str) -> None:
        self.goes_on.wait()
        self.lines.append(line)

    def read(self, count: int) -> list[str]:
        """Go on, and return the lines when there are ``count``."""
        self.goes_on.set()
        deadline = time.monotonic() + 10
        while len(self.lines) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.lines


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


def _record(message: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("quartet", logging.INFO, "", 0, message, (), None)
    record.fields = fields
    return record


@pytest.mark.parametrize("lines", [JsonLines, PlainLines])
@pytest.mark.parametrize("value", ["half a pair: \ud83d", 2**70, {1: "a"}, {"deep": ["\udc00"]}])
def test_any_value_can_be_logged(lines: type[logging.Formatter], value: object) -> None:
    lines().format(_record("said \ud83d", value=value)).encode()


def _logged(code: str) -> list[str]:
    """The lines of a process that runs this."""
    command = [sys.executable, "-c", LOGS + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr.splitlines()


def test_a_json_line_is_one_object_with_the_fields_of_the_call() -> None:
    request_id.set("abc")
    line = json.loads(JsonLines().format(_record("something happened", model="m3")))
    request_id.set("-")
    given = {"message": "something happened", "level": "INFO", "request_id": "abc", "model": "m3"}
    assert {name: line[name] for name in given} == given


def test_lines_that_nobody_reads_are_dropped_and_counted(logger: logging.Logger, reader: _Reader) -> None:
    before = LOG_DROPPED._value.get()
    for number in range(100):
        logger.error("line %d", number)
    # Ten wait, and one is being written.
    assert 89 <= LOG_DROPPED._value.get() - before <= 90
    assert json.loads(reader.read(10)[0])["message"] == "line 0"


def test_long_texts_are_cut_and_a_long_traceback_keeps_its_end(logger: logging.Logger, reader: _Reader) -> None:
    try:
        raise ValueError("x" * 100_000 + "the reason")
    except ValueError:
        logger.exception("y" * 100_000, extra={"fields": {"details": "z" * 100_000}})
    (line,) = reader.read(1)
    assert len(line) < 20_000
    assert json.loads(line)["exception"].endswith("xthe reason")


def test_the_last_lines_are_written_at_the_end() -> None:
    assert len(_logged("[logging.info('line %d', n) for n in range(500)]")) == 500


def test_a_warning_is_an_escaped_line() -> None:
    (line,) = _logged("import warnings; warnings.warn('a\\nb\\x1b[2J')")
    assert "a\nb\x1b[2J" in json.loads(line)["message"]


def test_a_plain_line_has_names_and_values_and_quotes_ambiguous_ones() -> None:
    line = PlainLines().format(_record("a request", model="m3", empty="", org='a b="c"\nERROR', seconds=0.5, key=None))
    assert line.split(" ", 1)[1] == (
        'INFO a request request_id=- model=m3 empty="" org="a b=\\"c\\"\\nERROR" seconds=0.5'
    )
    assert "\n" not in PlainLines().format(_record("one\ntwo"))


@pytest.mark.parametrize("form", LINES)
async def test_a_line_of_a_traced_request_has_the_trace_id(form: str) -> None:
    begin().trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert "4bf92f3577b34da6a3ce929d0e0e4736" in LINES[form]().format(_record("x"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_parallel_activities_are_not_measured_twice(clock: list[float]) -> None:
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


async def test_tasks_of_a_request_write_to_its_record_and_other_tasks_to_none() -> None:
    async def name(model: str) -> None:
        current().model = model

    async def request(model: str) -> str:
        own = begin()
        await asyncio.create_task(name(model))
        return own.model

    assert list(await asyncio.gather(request("a"), request("b"))) == ["a", "b"]
    await name("c")
    assert current().model == ""
