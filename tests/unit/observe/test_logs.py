"""Log lines block nobody, and have the facts of their request."""

import asyncio
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from frontend.access import api_key
from frontend.observe.logs import LINES, JsonLines, PlainLines, QueuedLines, quieten_libraries, request_id
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
        raise OSError("x" * 100_000 + "the reason")
    except OSError:
        logger.exception("y" * 100_000, extra={"fields": {"details": "z" * 100_000}})
    (line,) = reader.read(1)
    assert len(line) < 20_000
    assert json.loads(line)["exception"].endswith("xthe reason")


_SECRET = "Qx7secretSpoken"


class _QuotingError(Exception):
    pass


def _deep(text: str) -> None:
    try:
        int(text)
    except ValueError as error:
        raise _QuotingError(f"no number: {text}") from error


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("name", ["quartet", "aiohttp.server"])
def test_an_error_is_shown_by_its_type_and_its_lines_without_its_message(form: str, name: str) -> None:
    with pytest.raises(_QuotingError) as raised:
        _deep(_SECRET)
    error = (raised.type, raised.value, raised.tb)
    line = LINES[form]().format(_line_of(name, "unforeseen error", (), error))
    assert _SECRET not in line
    assert line.index("builtins.ValueError") < line.index("_QuotingError", line.index("builtins.ValueError"))
    assert "test_logs.py" in line
    assert "in _deep" in line


def test_errors_of_a_group_are_shown_too() -> None:
    group = ExceptionGroup(_SECRET, [KeyError(_SECRET), OSError("no route to host")])
    line = JsonLines().format(_line_of("quartet", "x", (), (type(group), group, None)))
    assert _SECRET not in line
    assert "KeyError" in line
    assert "OSError: no route to host" in line


def test_an_error_that_is_its_own_cause_is_shown_once() -> None:
    first, second = KeyError(), ValueError()
    first.__context__, second.__context__ = second, first
    assert JsonLines().format(_line_of("quartet", "x", (), (KeyError, first, None))).count("KeyError") == 1


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("name", ["aiohttp.websocket", "asyncio", "root", "quartets"])
@pytest.mark.parametrize(
    ("message", "arguments", "shown"),
    [
        (f"says {_SECRET}", (), "a line of"),
        ("client protocols %r, %d of them", ([_SECRET], 2), "client protocols '[hidden]', 2 of them"),
        ("%(said)s in %(seconds).1f s", ({"said": _SECRET, "seconds": 1.25},), "[hidden] in 1.2 s"),
        ("%s were sent", ({_SECRET: 1},), "[hidden] were sent"),
        ("%(other)s", ({"said": _SECRET},), "a line of"),
        ("%d", (float("inf"),), "a line of"),
        ("%d", (_SECRET,), "a line of"),
        ("%s", (_SECRET.encode(), 1), "a line of"),
    ],
)
def test_a_librarys_line_has_its_own_words_numbers_and_place_alone(
    name: str, form: str, message: str, arguments: tuple[object, ...], shown: str
) -> None:
    line = LINES[form]().format(_line_of(name, message, arguments))
    assert _SECRET not in line
    assert _SECRET.encode().hex() not in line
    assert shown in line
    assert name in line


@pytest.mark.parametrize("form", LINES)
def test_no_line_has_a_key_or_a_token(form: str) -> None:
    token = jwt.encode({"sub": "phone-1"}, "s" * 32)
    for secret in (api_key.new_key(), api_key.new_key()[:-3], token, token[:-3]):
        request_id.set(secret)
        line = LINES[form]().format(_record(f"said {secret}", details=f"the key {secret!r}", deep={"a": [secret]}))
        request_id.set("-")
        assert secret not in line
        assert line.count("[hidden]") == 4


@pytest.mark.parametrize("text", ["qk_" + "qk_" * 1300, "eyJ" * 1300, "eyJ" + "a." * 2000, "eyJa-" * 800])
def test_long_lines_are_searched_in_linear_time(text: str) -> None:
    began = time.thread_time()
    JsonLines().format(_record(text))
    assert time.thread_time() - began < 0.02


def _line_of(name: str, message: str, arguments: tuple[object, ...], error: Any = None) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "a_library.py", 7, message, arguments, error)


def test_the_last_lines_are_written_at_the_end() -> None:
    assert len(_logged("[logging.info('line %d', n) for n in range(500)]")) == 500


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("import warnings; warnings.warn('Qx7secret\\x1b[2J', ResourceWarning)", "ResourceWarning"),
        ("import threading; threading.Thread(target=int, args=['Qx7secret']).start()", "ValueError"),
        ("[type('X', (), {'__del__': lambda self: int('Qx7secret')})()].clear()", "ValueError"),
        (
            "import asyncio\nasync def fail(): int('Qx7secret')\n"
            "async def run():\n asyncio.get_running_loop().set_exception_handler(log_of_loop)\n"
            " asyncio.create_task(fail()); await asyncio.sleep(0.01)\nasyncio.run(run())",
            "ValueError",
        ),
        (
            "import asyncio\nasync def run():\n loop = asyncio.get_running_loop()\n"
            " loop.set_exception_handler(log_of_loop); loop.call_soon(int, 'Qx7secret'); await asyncio.sleep(0.01)\n"
            "asyncio.run(run())",
            "Exception in callback int(...)",
        ),
    ],
    ids=["a warning", "a thread", "a destructor", "a task", "a call"],
)
def test_what_python_would_write_to_standard_error_is_a_line_without_texts(code: str, shown: str) -> None:
    (line,) = _logged(f"import warnings; warnings.simplefilter('always')\n{code}")
    assert shown in line
    assert "Qx7secret" not in line


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


@pytest.mark.parametrize("name", ["alembic", "aiosqlite"])
def test_libraries_of_the_database_log_nothing_below_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, name)
    quieten_libraries()
    logger = logging.getLogger(f"{name}.core")
    logger.debug("SELECT a secret")
    logger.warning("slow")
    assert [record.message for record in caplog.records] == ["slow"]
