"""Runs the application: a listening socket, signals, the end."""

import asyncio
import os
import resource
import signal
import socket
from dataclasses import dataclass

import uvloop
from aiohttp import web

from frontend.config.settings import Settings
from frontend.http.connection import Runner


@dataclass(frozen=True)
class Inherited:
    """What a worker has from its parent: the socket that all workers accept from, a pipe that ends with the parent, and
    one that is told when this worker accepts requests.
    """

    listening: socket.socket
    alive: int
    started: int


def _allow_files() -> None:
    """As many open files as the system lets this process have: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _run(app: web.Application, settings: Settings, inherited: Inherited | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    runner = Runner(app, settings)
    try:
        await runner.setup()
        if inherited is None:
            await web.TCPSite(runner, settings.host, settings.port).start()
        else:
            loop.add_reader(inherited.alive, stop.set)
            await web.SockSite(runner, inherited.listening).start()
            os.write(inherited.started, b".")
        await stop.wait()
    finally:
        await runner.cleanup()


def serve(app: web.Application, settings: Settings, inherited: Inherited | None = None) -> None:
    """Answer requests until SIGINT or SIGTERM; requests under way have ten seconds to end."""
    _allow_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_run(app, settings, inherited))
