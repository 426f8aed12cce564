"""What holds an event loop fails the test that caused it, and nothing else does."""

import asyncio
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvloop

from frontend.http.connection import Connection
from tests import conftest, loop_watch
from tests.loop_watch import REPORTS, LoopWatch, reports

_CODE = """
import gc
import time


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def wait(seconds):
    time.sleep(seconds)


def work_and_collect(seconds):
    work(seconds)
    gc.collect()


async def call(function, *arguments):
    return function(*arguments)


async def wait_for(coroutine):
    return await coroutine


async def run_parts(function, *arguments):
    return function(*arguments)
"""


def _module(folder: Path) -> ModuleType:
    folder.mkdir()
    path = folder / "code.py"
    path.write_text(_CODE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(folder.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def product(tmp_path: Path) -> Any:
    return _module(tmp_path / "product")


@pytest.fixture
def fake(tmp_path: Path) -> Any:
    return _module(tmp_path / "tests")


Watched = Callable[[Coroutine[Any, Any, Any]], str]


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Runs a coroutine that never waits as a callback, and returns what is reported."""
    found: list[str] = []
    watch = LoopWatch(found.append, tmp_path / "product", tmp_path / "tests")
    watch.start()

    def run(coroutine: Coroutine[Any, Any, Any]) -> str:
        def step() -> None:
            with suppress(StopIteration):
                coroutine.send(None)

        watch.timed(step)()
        return "".join(found)

    yield run
    watch.close()


def test_work_is_found_with_its_stack(product: Any, watched: Watched) -> None:
    found = watched(product.call(product.work, 0.3))
    assert "worked for" in found
    assert f'File "{product.__file__}"' in found
    assert "in call" in found
    assert "while time.thread_time() < end" in found


def test_a_call_that_blocks_is_found_with_its_stack(product: Any, watched: Watched) -> None:
    found = watched(product.call(product.wait, 0.08))
    assert "was blocked for" in found
    assert "time.sleep(seconds)" in found


def test_what_a_test_awaits_counts(product: Any, fake: Any, watched: Watched) -> None:
    assert watched(fake.wait_for(product.call(product.work, 0.3)))


def test_a_short_callback_is_no_finding(product: Any, watched: Watched) -> None:
    assert not watched(product.call(product.work, 0.01))


def test_the_work_of_a_fake_is_none(product: Any, fake: Any, watched: Watched) -> None:
    assert not watched(product.call(fake.work, 0.06))
    assert not watched(product.wait_for(fake.call(fake.wait, 0.06)))


def test_what_a_test_calls_directly_is_none(product: Any, fake: Any, watched: Watched) -> None:
    assert not watched(fake.call(product.work, 0.06))


def test_the_start_is_none(product: Any, watched: Watched) -> None:
    assert not watched(product.run_parts(product.work, 0.06))


def test_a_collection_of_garbage_is_none(product: Any, watched: Watched) -> None:
    many = [[] for _ in range(1_000_000)]  # type: ignore[var-annotated]
    began = time.thread_time()
    found = watched(product.call(product.work_and_collect, 0.012))
    assert time.thread_time() - began > 0.03
    assert many
    assert not found


def test_a_processor_that_others_have_is_none(product: Any, watched: Watched) -> None:
    allowed = os.sched_getaffinity(0)
    only = {min(allowed)}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for each in busy:
            os.sched_setaffinity(each.pid, only)
        os.sched_setaffinity(0, only)
        began = time.perf_counter()
        found = watched(product.call(product.work, 0.012))
        assert time.perf_counter() - began > 0.02
    finally:
        os.sched_setaffinity(0, allowed)
        for each in busy:
            each.kill()
            each.wait()
    assert not found


def test_the_interpreters_lock_is_none(product: Any, watched: Watched) -> None:
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            sum(range(100))

    def give_way() -> None:
        for _ in range(40):
            product.wait(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        found, took = "", 0.0
        # Where the other thread gets no processor, it does not have the lock either.
        while took < 0.02:
            began = time.perf_counter()
            found = watched(product.call(give_way))
            took = time.perf_counter() - began
    finally:
        ended.set()
        thread.join()
    assert not found


def test_a_frontend_in_a_process_reports_to_its_test(
    product: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    monkeypatch.setenv(REPORTS, str(folder))
    monkeypatch.setattr(loop_watch, "PRODUCT", tmp_path / "product")
    monkeypatch.setattr(uvloop, "new_event_loop", uvloop.new_event_loop)
    for name in loop_watch.PROTOCOL:
        monkeypatch.setattr(Connection, name, getattr(Connection, name))
    loop_watch.watch_frontend()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(product.call(product.work, 0.3))
    (found,) = reports(folder)
    assert "while time.thread_time() < end" in found
    assert reports(folder) == []


def test_a_test_that_holds_a_loop_fails(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(conftest, "_held", ["the stack"])
    phase = conftest._phase(request.node)
    next(phase)
    with pytest.raises(pytest.fail.Exception, match="the stack"):
        next(phase)


def test_a_test_that_fails_itself_says_so_too(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(conftest, "_held", ["the stack"])
    phase = conftest._phase(request.node)
    next(phase)
    with pytest.raises(ValueError, match="its own") as failed:
        phase.throw(ValueError("its own"))
    assert failed.value.__notes__ == ["the stack"]
