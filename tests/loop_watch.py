"""Watches event loops: a callback of the product that holds one for over 20 ms is reported with its stack.

Every callback is timed, and a thread looks at those that take long. What counts is processor time of the loop's own
thread, and time in which a call of the system blocks it. A thread that waits for a processor, which others have, or for
the interpreter's lock does not hold its loop. What keeps that lock all the time is not seen. The time of garbage
collections does not count: they take longer on busy processors, and tests/faults/test_loop.py measures them.

Tests may hold a loop themselves. What is held counts if the product does it: the innermost code of this repository is
the frontend's, and between it and a test or a fake there is a coroutine of the frontend. What a test calls directly is
its own. Nobody waits yet while the application starts.
"""

import asyncio
import gc
import inspect
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, chain, count, repeat, starmap, takewhile
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvloop

ROOT = Path(__file__).parents[1]
PRODUCT, TESTS = ROOT / "frontend", ROOT / "tests"
# What uvloop calls of a connection.
PROTOCOL = ("connection_made", "data_received", "eof_received", "connection_lost")
MOST_SECONDS = 0.020
# Looks are so far apart, and the first at a callback comes after this much of its time.
_LOOK_SECONDS = 0.005
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
# The start and the end of the application. Queries run in greenlets, whose stacks do not show who waits for them.
_STARTS = ("run_parts", "_upgrade", "freeze_objects", "open_engine", "_accept")
# The system's call in which a thread waits for a lock, the interpreter's too, by processor.
_LOCKS = {"x86_64": "202", "aarch64": "98"}.get(os.uname().machine, "")
# The environment variable with the folder for what frontends that tests start find.
REPORTS = "TEST_LOOP_REPORTS"


@dataclass(frozen=True)
class _Look:
    """What a callback was doing: whether it is the product's, and where a call of the system blocked it, if one did.

    A place holds its frame: another frame could get the number of one that has gone.
    """

    at: float
    is_ours: bool
    blocked: tuple[FrameType, int] | None
    # File, line and function, from the outermost call inwards.
    stack: list[tuple[str, int, str]]


@dataclass(eq=False)
class _Callback:
    thread: int
    began: float = field(default_factory=time.perf_counter)
    worked: float = field(default_factory=time.thread_time)
    looks: list[_Look] = field(default_factory=list)


class LoopWatch:
    """``report`` is called with the text of each finding, in the thread of its loop."""

    def __init__(self, report: Callable[[str], object], product: Path, tests: Path) -> None:
        self._report, self._product, self._tests = report, f"{product}/", f"{tests}/"
        self._running: dict[int, _Callback] = {}
        self._native: dict[int, int] = {}
        self._ended = threading.Event()

    def start(self) -> None:
        gc.callbacks.append(self._note_collection)
        threading.Thread(target=self._look_on, name="loop watch", daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        gc.callbacks.remove(self._note_collection)

    def _note_collection(self, phase: str, _: Mapping[str, int]) -> None:
        """Subtract the processor time of a garbage collection from that of the callback in which it runs."""
        if callback := self._running.get(threading.get_ident()):
            # Work that began later is less work.
            callback.worked += time.thread_time() * (1 if phase == "stop" else -1)

    def timed(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run``, whose calls are callbacks of a loop."""

        def watched(*arguments: Any, **named: Any) -> Any:
            thread = threading.get_ident()
            if thread in self._running:
                return run(*arguments, **named)
            if thread not in self._native:
                self._native[thread] = threading.get_native_id()
            callback = self._running[thread] = _Callback(thread)
            try:
                return run(*arguments, **named)
            finally:
                del self._running[thread]
                if time.perf_counter() - callback.began > MOST_SECONDS:
                    self._judge(callback)

        return watched

    def _judge(self, callback: _Callback) -> None:
        worked = time.thread_time() - callback.worked
        ours = [look for look in callback.looks if look.is_ours]
        if not ours:
            return
        share = len(ours) / len(callback.looks)
        blocked = _blocked_seconds(ours)
        if worked * share > MOST_SECONDS:
            self._tell(f"worked for {1000 * worked:.0f} ms", ours)
        elif blocked > MOST_SECONDS:
            self._tell(f"was blocked for {1000 * blocked:.0f} ms or more", [look for look in ours if look.blocked])

    def _tell(self, how: str, looks: list[_Look]) -> None:
        # The place where it was seen most often.
        place = Counter(look.stack[-1] for look in looks).most_common(1)[0][0]
        stack = next(look.stack for look in looks if look.stack[-1] == place)
        summary = traceback.StackSummary.from_list([(*call, None) for call in stack])
        self._report(f"a callback held the event loop: it {how}\n{''.join(summary.format())}")

    def _look_on(self) -> None:
        # An idle process sleeps for longer.
        while not self._ended.wait(_LOOK_SECONDS if self._running else 2 * _LOOK_SECONDS):
            for callback in list(self._running.values()):
                if time.perf_counter() - callback.began > _LOOK_SECONDS:
                    self._look_at(callback)

    def _look_at(self, callback: _Callback) -> None:
        blocked = self._is_blocked(callback.thread)
        frames = list(takewhile(lambda frame: frame.f_code.co_filename != __file__, _frames(callback.thread)))
        if not frames or self._running.get(callback.thread) is not callback:
            return
        codes = [frame.f_code for frame in frames]
        is_idle = codes[0].co_filename == threading.__file__ and threading.Thread.start.__code__ not in codes
        if blocked == _LOCKS and not is_idle:
            blocked = ""
        place = (frames[0], frames[0].f_lasti) if blocked else None
        # Not traceback's own stack: the cache of lines behind it is not made for several threads.
        stack = [(each.f_code.co_filename, each.f_lineno, each.f_code.co_name) for each in reversed(frames)]
        callback.looks.append(_Look(time.perf_counter(), self._is_ours(codes), place, stack))

    def _is_blocked(self, thread: int) -> str:
        """The number of the system's call in which a thread sleeps; empty if it works, or could."""
        try:
            call = Path(f"/proc/self/task/{self._native[thread]}/syscall").read_text("ascii").split()[0]
        except OSError:
            return ""
        return "" if call in ("running", "-1") else call

    def _is_ours(self, codes: Sequence[CodeType]) -> bool:
        own = [code for code in codes if code.co_filename.startswith((self._product, self._tests))]
        if any(code.co_name in _STARTS for code in own):
            return False
        ours = list(takewhile(lambda code: code.co_filename.startswith(self._product), own))
        return bool(ours) and (len(ours) == len(own) or any(code.co_flags & _ASYNC for code in ours))


def _frames(thread: int) -> list[FrameType]:
    """The frames of a thread, from the innermost outwards; none if it has ended.

    One call of C code reads them all, so that the thread does not run meanwhile. If it did, Python 3.11 might take
    other memory for the caller of a frame. A garbage collection would let it run: the callback above is Python.
    """
    frames: list[FrameType] = []
    innermost = map(itemgetter(thread), starmap(sys._current_frames, [()]))
    collects = gc.isenabled()
    gc.disable()
    try:
        # The outermost frame has no caller, which ends this.
        with suppress(AttributeError, KeyError):
            frames.extend(accumulate(chain(innermost, repeat("f_back")), getattr))
    finally:
        if collects:
            gc.enable()
    return frames[:-1]


def _blocked_seconds(looks: list[_Look]) -> float:
    """The longest time between looks that saw a callback blocked in the same place."""
    longest, first = 0.0, None
    for look in looks:
        if look.blocked is None or first is None or look.blocked != first.blocked:
            first = look if look.blocked else None
        else:
            longest = max(longest, look.at - first.at)
    return longest


def watch_this_process(report: Callable[[str], object]) -> None:
    """Watch the loops of this process that are asyncio's own."""
    watch = LoopWatch(report, PRODUCT, TESTS)
    asyncio.Handle._run = watch.timed(asyncio.Handle._run)  # type: ignore[method-assign]
    watch.start()


def watch_frontend() -> None:
    """Watch uvloop's loops of this process, if the test that started it wants to know.

    uvloop calls protocols itself. Those of the frontend's connections are watched too.
    """
    if os.environ.get(REPORTS):
        uvloop.new_event_loop = _watched_loop


def _watched_loop() -> uvloop.Loop:
    # The parent of several workers must not have imported them.
    from frontend.http.connection import Connection

    folder, numbers = Path(os.environ[REPORTS]), count()

    def report(text: str) -> None:
        path = folder / f".{os.getpid()}-{next(numbers)}"
        path.write_text(text, encoding="utf-8")
        path.rename(folder / path.name[1:])

    watch = LoopWatch(report, PRODUCT, TESTS)
    watch.start()
    for name in PROTOCOL:
        setattr(Connection, name, watch.timed(getattr(Connection, name)))

    class Loop(uvloop.Loop):
        def call_soon(self, callback: Any, *arguments: Any, **named: Any) -> asyncio.Handle:  # type: ignore[override]
            return super().call_soon(watch.timed(callback), *arguments, **named)

        def call_soon_threadsafe(  # type: ignore[override]
            self, callback: Any, *arguments: Any, **named: Any
        ) -> asyncio.Handle:
            return super().call_soon_threadsafe(watch.timed(callback), *arguments, **named)

        def call_later(  # type: ignore[override]
            self, delay: float, callback: Any, *arguments: Any, **named: Any
        ) -> asyncio.TimerHandle:
            return super().call_later(delay, watch.timed(callback), *arguments, **named)

        def close(self) -> None:
            watch.close()
            super().close()

    return Loop()


def reports(folder: Path) -> list[str]:
    """Take what processes have reported."""
    found = []
    for path in sorted(folder.glob("[0-9]*")):
        found.append(path.read_text(encoding="utf-8"))
        path.unlink()
    return found
