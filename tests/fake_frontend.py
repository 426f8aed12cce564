"""The frontend over HTTP with a Triton that answers by itself: ``python -m tests.fake_frontend``.

Settings come from QUARTET_* variables; ``QUARTET_PORT=0`` takes a free port. The address is the first line printed.
With ``--watch``, SIGUSR1 makes it print how many milliseconds its event loop was held at most since the last time; with
``--one-minute``, the minute that limits are counted in does not end.
"""

import asyncio
import os
import signal
import sys
import time

import uvloop
from aiohttp import web

from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.http.runner import Runner
from frontend.http.server import freeze_objects
from frontend.observe.logs import set_up_logging
from tests.clocks import LimitsClock
from tests.fakes import FakeTriton

_BEAT_SECONDS = 0.001


class Watch:
    """Measures the longest time for which the event loop was blocked, by its own work or by a thread.

    What counts is the processor time of this process, and at most the time that passed: other processes on a busy
    machine do not count.
    """

    def __init__(self) -> None:
        self._longest = 0.0

    async def run(self) -> None:
        while True:
            spent, passed = time.process_time(), time.perf_counter()
            await asyncio.sleep(_BEAT_SECONDS)
            held = min(time.process_time() - spent, time.perf_counter() - passed) - _BEAT_SECONDS
            self._longest = max(self._longest, held)

    def tell(self) -> None:
        print(1000 * self._longest, flush=True)
        self._longest = 0.0


async def _serve(settings: Settings, watch: Watch | None) -> None:
    runner = Runner(create_app(settings, connect=FakeTriton), settings)
    await runner.setup()
    freeze_objects()
    await web.TCPSite(runner, settings.host, settings.port).start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if watch is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, watch.tell)
        beating = asyncio.create_task(watch.run())
        runner.app["beating"] = beating
    print(f"http://{settings.host}:{runner.addresses[0][1]}", flush=True)
    try:
        await stop.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    if "--one-minute" in sys.argv:
        LimitsClock()
    loaded = Settings.from_env(os.environ)
    set_up_logging(loaded.log_level, loaded.log_format)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(loaded, Watch() if "--watch" in sys.argv else None))
