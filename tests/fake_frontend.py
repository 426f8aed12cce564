"""The frontend over HTTP with a fake Triton: ``python -m tests.fake_frontend``.

Settings come from QUARTET_* variables; ``QUARTET_PORT=0`` takes a free port. The first line of output is the address.
With ``--watch``, SIGUSR1 makes it print the most milliseconds that its event loop was blocked since the last signal.
With ``--one-minute``, the minute of the rate limits never ends.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable

import uvloop
from aiohttp import web

from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from frontend.http.server import freeze_objects
from frontend.observe.logs import set_up_logging
from tests.clocks import LimitsClock
from tests.fakes import FakeTriton
from tests.loop_watch import watch_frontend

_BEAT_SECONDS = 0.001


class Watch:
    """Measures the longest time for which the event loop was blocked, by its own work or by a thread.

    It counts processor time of this process, and at most the time that passed, so that other processes on a busy
    machine do not count.
    """

    def __init__(self) -> None:
        self._longest = 0.0

    async def run(self) -> None:
        while True:
            spent, passed = time.process_time(), time.perf_counter()
            await asyncio.sleep(_BEAT_SECONDS)
            blocked = min(time.process_time() - spent, time.perf_counter() - passed) - _BEAT_SECONDS
            self._longest = max(self._longest, blocked)

    def report(self) -> None:
        print(1000 * self._longest, flush=True)
        self._longest = 0.0


async def _serve(settings: Settings, watch: Watch | None, connect: Callable[[str], FakeTriton]) -> None:
    runner = Runner(create_app(settings, connect=connect), settings)
    await runner.setup()
    freeze_objects()
    await web.TCPSite(runner, settings.host, settings.port).start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if watch is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, watch.report)
        beating = asyncio.create_task(watch.run())
        runner.app["beating"] = beating
    print(f"http://{settings.host}:{runner.addresses[0][1]}", flush=True)
    try:
        await stop.wait()
    finally:
        await runner.cleanup()


def main(connect: Callable[[str], FakeTriton] = FakeTriton) -> None:
    watch_frontend()
    if "--one-minute" in sys.argv:
        LimitsClock()
    loaded = Settings.from_env(os.environ)
    set_up_logging(loaded.log_level, loaded.log_format)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(loaded, Watch() if "--watch" in sys.argv else None, connect))


if __name__ == "__main__":
    main()
