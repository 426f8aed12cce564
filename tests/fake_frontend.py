"""The frontend over HTTP with a Triton that answers by itself: ``python -m tests.fake_frontend``.

Settings come from QUARTET_* variables; ``QUARTET_PORT=0`` takes a free port. The address is the first line printed.
"""

import asyncio
import os
import signal

import uvloop
from aiohttp import web

from frontend.app import create_app
from frontend.config import Settings
from frontend.logs import set_up_logging
from frontend.server import Runner
from tests.fakes import FakeTriton


async def _serve(settings: Settings) -> None:
    runner = Runner(create_app(settings, connect=FakeTriton), settings)
    await runner.setup()
    await web.TCPSite(runner, settings.host, settings.port).start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print(f"http://{settings.host}:{runner.addresses[0][1]}", flush=True)
    try:
        await stop.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    loaded = Settings.from_env(os.environ)
    set_up_logging(loaded.log_level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(loaded))
