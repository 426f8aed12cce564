"""Runs the application: sockets, signals and shutdown."""

import asyncio
import gc
import os
import resource
import signal
import socket

import uvloop
from aiohttp import web

from frontend.http.runner import Runner
from frontend.observe.logs import log_of_loop
from frontend.processes.worker import Descriptors, SharedStatus, Start

_ENDING = (signal.SIGTERM, signal.SIGINT)
# Python's are 700, 10 and 10: 16,000 objects of ended requests came together, and took 40 ms.
_COLLECT_AFTER = (700, 5, 5)


class _ShutdownSignals:
    """Signals from the parent. The parent's death counts as SIGINT."""

    def __init__(self, runner: Runner, alive: int) -> None:
        self.first: signal.Signals | None = None
        self.anything = asyncio.Event()
        self._runner, self._times = runner, 0
        loop = asyncio.get_running_loop()
        for number in (*_ENDING, signal.SIGHUP):
            loop.add_signal_handler(number, self._receive, number)
        loop.add_reader(alive, self._parent_ended, alive)

    def _receive(self, number: signal.Signals) -> None:
        self.first = self.first or number
        self.anything.set()
        self._times += number in _ENDING
        if self._times > 1:
            self._runner.hurry()

    def _parent_ended(self, alive: int) -> None:
        asyncio.get_running_loop().remove_reader(alive)
        self._receive(signal.SIGINT)


def _allow_files() -> None:
    """Raise the limit of open files to the maximum. Each connection needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def freeze_objects() -> None:
    """Freeze all objects made so far and collect later ones often: garbage collection blocks the event loop briefly."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


async def _accept(runner: Runner, descriptors: Descriptors) -> None:
    await runner.setup()
    freeze_objects()
    runner.state.workers = SharedStatus(descriptors.status)
    if descriptors.admin >= 0:
        await web.SockSite(runner.admin, socket.socket(fileno=descriptors.admin)).start()
    await web.SockSite(runner, socket.socket(fileno=descriptors.listening)).start()
    os.write(descriptors.started, b"%d\n" % os.getpid())


async def _leave(runner: Runner, number: signal.Signals | None, delay: float) -> None:
    """Send callers elsewhere while requests are still answered. The runner's shutdown does the rest."""
    runner.state.closing = True
    runner.state.stopping = number != signal.SIGHUP
    if number == signal.SIGTERM:
        # Load balancers see from /health/ready that this frontend is leaving.
        await runner.pause(delay)
    await runner.refuse()
    if number == signal.SIGHUP:
        for site in runner.admin.sites:
            await site.stop()
        # Callers keep their connections until the next answer closes them.
        await runner.pause(delay)


async def _run(app: web.Application, start: Start) -> None:
    asyncio.get_running_loop().set_exception_handler(log_of_loop)
    runner = Runner(app, start.settings)
    signals = _ShutdownSignals(runner, start.descriptors.alive)
    accepting = asyncio.create_task(_accept(runner, start.descriptors))
    ending = asyncio.create_task(signals.anything.wait())
    try:
        await asyncio.wait((accepting, ending), return_when=asyncio.FIRST_COMPLETED)
        if accepting.done():
            accepting.result()
            await ending
            await _leave(runner, signals.first, start.settings.stop_delay_seconds)
    finally:
        accepting.cancel()
        ending.cancel()
        await asyncio.wait((accepting, ending))
        await runner.cleanup()


def serve(app: web.Application, start: Start) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish the requests that have arrived."""
    _allow_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_run(app, start))
