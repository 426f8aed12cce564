import gc
import os
import resource
import signal
import socket
import threading
import urllib.request
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from aiohttp import web

from frontend.config.settings import Settings
from frontend.http.server import Collector, run


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@pytest.fixture(autouse=True)
def _open_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_both_ports_answer_until_a_signal() -> None:
    app = web.Application()
    app.router.add_get("/", _hello)
    answers: list[bytes] = []
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"http://127.0.0.1:{each.getsockname()[1]}" for each in sockets]

    def call_and_end() -> None:
        try:
            for address in addresses:
                with urllib.request.urlopen(address, timeout=20) as response:
                    answers.append(response.read())
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=call_and_end)
    other.start()
    assert run(app, Settings(), sockets) == 0
    other.join()
    assert answers == [b"hello", b"hello"]
    # Each connection needs a file, so the limit is raised to the maximum.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard


@dataclass
class _Busy:
    """A runner with so many requests in hand."""

    requests: int


class _Circle:
    def __init__(self) -> None:
        self.itself = self


async def _looks_until_collected(requests: int) -> int:
    """How often a frontend with so many requests in hand looks until garbage is gone."""
    gc.collect()
    gc.disable()
    try:
        left, collector = weakref.ref(_Circle()), Collector(_Busy(requests))  # type: ignore[arg-type]
        for looks in range(1, 100):
            await collector.collect()
            if left() is None:
                return looks
        return 100
    finally:
        gc.enable()


async def test_garbage_is_collected_while_little_is_in_hand_and_rarely_while_much_is() -> None:
    assert [await _looks_until_collected(requests) for requests in (0, 50, 51)] == [1, 1, 20]
