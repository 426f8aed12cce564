"""Several workers over one socket: all of them answer, a dead one is replaced, and they end together."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
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


def _call(frontend: Served, times: int) -> None:
    for _ in range(times):
        _get(f"{frontend.url}/v1/models")


def _counted(frontend: Served) -> list[float]:
    """The calls that the metrics count."""
    return [float(count) for count in _COUNT.findall(_get(f"{frontend.admin_url}/metrics"))]


def _kill_one(frontend: Served) -> int:
    killed = min(frontend.workers())
    os.kill(killed, signal.SIGKILL)
    return killed


def _gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A link to the models, which a worker needs at its start alone."""
    link = tmp_path_factory.mktemp("models") / "repository"
    link.symlink_to(ROOT / "model_repository")
    return link


@contextmanager
def _without(models: Path) -> Iterator[None]:
    models.unlink()
    try:
        yield
    finally:
        models.symlink_to(ROOT / "model_repository")


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer, models: Path) -> dict[str, str]:
    """Of a frontend that is ready without a Triton."""
    own = {"REDIS": redis_server.url, "MODEL_REPOSITORY": models, "WORKERS": WORKERS, "READY_MODELS": "none"}
    return prepare(tmp_path_factory.mktemp("workers"), **own, STOP_DELAY_SECONDS=0)


@contextmanager
def _started(environ: dict[str, str], log: Path) -> Iterator[Served]:
    frontend = Served(environ, log, FRONTEND)
    asyncio.run(frontend.start())
    workers = frontend.workers()
    yield frontend
    frontend.kill()
    asyncio.run(until(lambda: _gone(workers), 60))


@pytest.fixture(scope="module")
def unharmed(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that end no process: starting one takes longer than they do."""
    with _started(environ, tmp_path_factory.mktemp("unharmed") / "log") as frontend:
        yield frontend


@pytest.fixture
def frontend(environ: dict[str, str], tmp_path: Path) -> Iterator[Served]:
    with _started(environ, tmp_path / "log") as frontend:
        yield frontend


def test_metrics_add_up_over_the_workers(unharmed: Served) -> None:
    _call(unharmed, 60)
    for _ in range(5):
        assert _counted(unharmed) == [60.0]


async def test_the_counts_of_a_killed_worker_are_kept_and_another_takes_its_place(frontend: Served) -> None:
    _call(frontend, 30)
    # A request is counted after its answer.
    await until(lambda: _counted(frontend) == [30.0])
    before, started = frontend.workers(), frontend.counted("quartet_start_time_seconds")
    killed = _kill_one(frontend)
    await until(lambda: frontend.counted("quartet_start_time_seconds") > started, 60)
    await until(frontend.is_whole, 60)
    assert frontend.workers() > before - {killed}
    assert _counted(frontend) == [30.0]


async def test_a_worker_that_cannot_start_again_leaves_the_others_alone_until_it_can(
    frontend: Served, models: Path
) -> None:
    before = frontend.workers()
    with _without(models):
        killed = _kill_one(frontend)
        await until(lambda: "cannot start" in frontend.log.read_text(encoding="utf-8"), 60)
        assert frontend.counted("quartet_workers") == WORKERS - 1
        assert frontend.workers() >= before - {killed}
        _call(frontend, 1)
    await until(frontend.is_whole, 60)


async def test_sigterm_ends_every_worker(frontend: Served) -> None:
    workers = frontend.workers()
    assert await frontend.stop(seconds=20) == 0
    assert _gone(workers)


async def test_workers_end_when_their_parent_was_killed(frontend: Served) -> None:
    workers = frontend.workers()
    frontend.kill()
    await until(lambda: _gone(workers), 60)


@pytest.mark.parametrize("wrong", ["port", "models"])
def test_a_frontend_that_cannot_start_says_so_in_a_line(unharmed: Served, environ: dict[str, str], wrong: str) -> None:
    own = named(PORT=unharmed.port) if wrong == "port" else named(MODEL_REPOSITORY="/nowhere", PORT=0)
    environ = {**os.environ, **environ, **own}
    command = [sys.executable, "-m", "frontend", "serve"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot start" in done.stderr
    assert wrong == "models" or len(done.stderr.splitlines()) == 1
