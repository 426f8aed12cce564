"""Several workers on one port: metrics of all of them, a dead one is replaced, and what a failed start says."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import KEY, ROOT, bearer
from tests.eventually import until
from tests.faults.served import FRONTEND, Served
from tests.frontends import named, prepare
from tests.redis import RedisServer

WORKERS = 2
_COUNT = re.compile(r'^quartet_requests_total\{.*route="/v1/models".*\} ([\d.]+)$', re.MULTILINE)


def _get(url: str) -> str:
    """Over a connection of its own, so that any worker may accept it."""
    request = urllib.request.Request(url, headers={**bearer(KEY), "Connection": "close"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        body: bytes = answer.read()
    return body.decode()


def _counted(frontend: Served) -> list[float]:
    """The calls that the metrics count."""
    return [float(count) for count in _COUNT.findall(_get(f"{frontend.admin_url}/metrics"))]


def _gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> dict[str, str]:
    """Of a frontend that is ready without a Triton."""
    own = {"REDIS": redis_server.url, "WORKERS": WORKERS, "READY_MODELS": "none", "STOP_DELAY_SECONDS": 0}
    return prepare(tmp_path_factory.mktemp("workers"), **own)


@pytest.fixture(scope="module")
def frontend(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    frontend = Served(environ, tmp_path_factory.mktemp("frontend") / "log", FRONTEND)
    asyncio.run(frontend.start())
    yield frontend
    workers = frontend.workers()
    frontend.kill()
    asyncio.run(until(lambda: _gone(workers), 60))


async def test_metrics_add_up_over_the_workers_and_a_killed_ones_are_continued(frontend: Served) -> None:
    for _ in range(60):
        _get(f"{frontend.url}/v1/models")
    # A request is counted after its answer.
    await until(lambda: _counted(frontend) == [60.0])
    before, started = frontend.workers(), frontend.counted("quartet_start_time_seconds")
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    await until(lambda: frontend.counted("quartet_start_time_seconds") > started, 60)
    await until(frontend.is_whole, 60)
    assert frontend.workers() > before - {killed}
    for _ in range(5):
        assert _counted(frontend) == [60.0]


@pytest.mark.parametrize("wrong", ["port", "models"])
def test_a_frontend_that_cannot_start_says_so_in_a_line(frontend: Served, environ: dict[str, str], wrong: str) -> None:
    own = named(PORT=frontend.port) if wrong == "port" else named(MODEL_REPOSITORY="/nowhere", PORT=0)
    environ = {**os.environ, **environ, **own}
    command = [sys.executable, "-m", "frontend", "serve"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot start" in done.stderr
    assert wrong == "models" or len(done.stderr.splitlines()) == 1
