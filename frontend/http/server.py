"""Runs the application: sockets, signals and shutdown."""

import asyncio
import ctypes
import gc
import os
import resource
import signal
import socket
import threading
from collections.abc import Sequence

import uvloop
from aiohttp import web

from frontend.concurrency.background import Repeating
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from frontend.observe.logs import log_of_loop
from frontend.observe.metrics import WORKERS
from frontend.processes.siblings import ENDED_BY
from frontend.processes.sockets import listen

_ENDING = (signal.SIGTERM, signal.SIGINT)
# Time to end for a server that has not accepted yet, and after a second signal.
_SOON_SECONDS = 5.0
# Python's are 700, 10 and 10. A collection of the oldest objects looks at all that requests in hand hold, which took
# half of the event loop's time in a flood. So Python starts hardly any of these, and ``Collector`` does.
_COLLECT_AFTER = (700, 10, 10_000)
# After so many looks with more requests in hand, which is after ten minutes, it collects all the same.
_COLLECT_SECONDS, _QUIET_REQUESTS, _MOST_SKIPPED = 30.0, 50, 19
# From glibc's malloc.h: the most arenas, each of which keeps what its threads free.
_M_ARENA_MAX = -8


class _ShutdownSignals:
    """The first of the signals that end the server, and the exit status, which a second one decides."""

    def __init__(self, runner: Runner) -> None:
        self.first: signal.Signals | None = None
        self.received = asyncio.Event()
        self.status = 0
        self._runner = runner
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._receive, number)

    def _receive(self, number: signal.Signals) -> None:
        if self.first is None:
            self.first = number
            self.received.set()
        elif not self.status:
            self.status = ENDED_BY + number
            self._runner.hurry()
            self.end_soon()

    def end_soon(self) -> None:
        """Kill this process if it does not end in time."""
        timer = threading.Timer(_SOON_SECONDS, os._exit, (self.status,))
        timer.daemon = True
        timer.start()


def _allow_files() -> None:
    """Raise the limit of open files to the maximum. Each connection needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def share_arenas() -> None:
    """Let all threads share what they free. glibc keeps it for each, which grew by 2 kB with every sentence spoken."""
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_M_ARENA_MAX, 1)


def freeze_objects() -> None:
    """Freeze all objects made so far and collect old ones rarely: garbage collection blocks the event loop."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


class Collector:
    """Collects garbage of any age while few requests are in hand, which takes milliseconds; otherwise rarely."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._skipped = runner, 0

    async def collect(self) -> None:
        if self._runner.requests <= _QUIET_REQUESTS or self._skipped == _MOST_SKIPPED:
            self._skipped = 0
            gc.collect()
        else:
            self._skipped += 1


async def _accept(runner: Runner, sockets: Sequence[socket.socket]) -> None:
    await runner.setup()
    freeze_objects()
    for site, each in zip((runner, runner.admin), sockets, strict=False):
        listen(each)
        await web.SockSite(site, each).start()
    WORKERS.set(1)


async def _leave(runner: Runner, number: signal.Signals | None, delay: float) -> None:
    """Send callers elsewhere while requests are still answered. The runner's shutdown does the rest."""
    runner.state.closing = True
    if number == signal.SIGTERM:
        # Load balancers see from /health/ready that this frontend is leaving.
        await runner.pause(delay)


async def _run(app: web.Application, settings: Settings, sockets: Sequence[socket.socket]) -> int:
    asyncio.get_running_loop().set_exception_handler(log_of_loop)
    runner = Runner(app, settings)
    signals = _ShutdownSignals(runner)
    accepting = asyncio.create_task(_accept(runner, sockets))
    collecting = Repeating(_COLLECT_SECONDS, Collector(runner).collect)
    collecting.start()
    ending = asyncio.create_task(signals.received.wait())
    try:
        await asyncio.wait((accepting, ending), return_when=asyncio.FIRST_COMPLETED)
        if accepting.done():
            accepting.result()
            await ending
            await _leave(runner, signals.first, settings.stop_delay_seconds)
        else:
            signals.end_soon()
    finally:
        await collecting.close()
        accepting.cancel()
        ending.cancel()
        await asyncio.wait((accepting, ending))
        await runner.cleanup()
    return signals.status


def run(app: web.Application, settings: Settings, sockets: Sequence[socket.socket]) -> int:
    """Serve until SIGTERM or SIGINT; then finish the requests that have arrived. Returns the exit status.

    ``sockets`` are those of the API port and, if there is one, of the admin port.
    """
    _allow_files()
    share_arenas()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        return loop.run(_run(app, settings, sockets))
