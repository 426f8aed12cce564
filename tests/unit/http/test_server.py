import os
import resource
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from aiohttp import web

from frontend.config.settings import Settings
from frontend.http.server import serve
from frontend.processes.worker import Descriptors, SharedStatus, Start, WorkerCounts


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@pytest.fixture(autouse=True)
def _open_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_worker_reports_that_it_accepts_and_ends_with_its_parent() -> None:
    app = web.Application()
    app.router.add_get("/", _hello)
    (alive, parent), (reading, started) = os.pipe(), os.pipe()
    answers: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def live_and_die() -> None:
            answers.append(os.read(reading, 100))
            try:
                with urllib.request.urlopen(address, timeout=20) as response:
                    answers.append(response.read())
            finally:
                os.close(parent)

        other = threading.Thread(target=live_and_die)
        other.start()
        status = SharedStatus.new()
        status.write(WorkerCounts(1))
        # The server closes this socket.
        shared = Descriptors(os.dup(listening.fileno()), -1, alive, started, status.descriptor)
        serve(app, Start(Settings(), shared))
        other.join()
    for end in (alive, reading, started, status.descriptor):
        os.close(end)
    assert answers == [b"%d\n" % os.getpid(), b"hello"]
    # Each connection needs a file, so the limit is raised to the maximum.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard
