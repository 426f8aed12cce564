"""Several workers over one socket: all of them answer, a dead one is replaced, and they end together."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from frontend.config.reading import PREFIX
from scripts.local_triton.checks import free_port
from tests.conftest import KEY, ROOT
from tests.eventually import until
from tests.frontends import prepare
from tests.redis import RedisServer

WORKERS = 3
_COUNT = re.compile(r'^quartet_requests_total\{.*route="/v1/models".*\} ([\d.]+)$', re.MULTILINE)


class Parent:
    """``python -m frontend serve`` with several workers."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "frontend", "serve"]
        own = {f"{PREFIX}PORT": str(self.port), f"{PREFIX}LOG_LEVEL": "WARNING", f"{PREFIX}WORKERS": str(WORKERS)}
        own[f"{PREFIX}STOP_DELAY_SECONDS"] = "0"
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environ, **own}, stderr=subprocess.PIPE, text=True
        )

    def get(self, path: str) -> str:
        """A connection of its own, so that any worker may accept it."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {KEY}", "Connection": "close"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            body: bytes = answer.read()
        return body.decode()

    def answers(self) -> bool:
        try:
            return bool(self.get("/health/live"))
        except OSError:
            return False

    def workers(self) -> set[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return {int(pid) for pid in children.split()}

    def said(self, name: str) -> int:
        """A number that readiness tells of the workers, or -1 where nobody answers. There is no Triton here."""
        try:
            self.get("/health/ready")
        except urllib.error.HTTPError as error:
            return int(json.load(error)["workers"][name])
        except OSError:
            return -1
        raise AssertionError("ready without a Triton")


def _wait(condition: Callable[[], object]) -> None:
    asyncio.run(until(condition, 60))


def _gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A link to the models, which a worker needs at its start alone."""
    link = tmp_path_factory.mktemp("models") / "repository"
    link.symlink_to(ROOT / "model_repository")
    return link


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer, models: Path) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("workers")
    return {**prepare(folder), f"{PREFIX}REDIS": redis_server.url, f"{PREFIX}MODEL_REPOSITORY": str(models)}


@pytest.fixture
def parent(environ: dict[str, str]) -> Iterator[Parent]:
    started = Parent(environ)
    try:
        _wait(lambda: started.said("accepting") == WORKERS)
        yield started
    finally:
        workers = started.workers() if started.process.poll() is None else set()
        started.process.kill()
        started.process.communicate()
        _wait(lambda: _gone(workers))


def test_metrics_add_up_over_the_workers(parent: Parent) -> None:
    for _ in range(60):
        parent.get("/v1/models")
    for _ in range(5):
        assert [float(count) for count in _COUNT.findall(parent.get("/metrics"))] == [60.0]


def test_a_worker_that_was_killed_is_replaced(parent: Parent) -> None:
    before = parent.workers()
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    _wait(lambda: parent.said("restarts") == 1 and parent.said("accepting") == WORKERS)
    assert parent.workers() > before - {killed}
    assert parent.answers()


def test_what_a_killed_worker_has_counted_is_not_lost(parent: Parent) -> None:
    for _ in range(30):
        parent.get("/v1/models")
    killed = min(parent.workers())
    os.kill(killed, signal.SIGKILL)
    _wait(lambda: parent.said("restarts") == 1 and parent.said("accepting") == WORKERS)
    text = parent.get("/metrics")
    assert [float(count) for count in _COUNT.findall(text)] == [30.0]
    for told in ("accepting 3.0", "leaving 0.0", "restarts 1.0"):
        assert f"quartet_group_{told}" in text


def test_a_worker_that_cannot_start_again_leaves_the_others_alone_until_it_can(parent: Parent, models: Path) -> None:
    before = parent.workers()
    killed = min(before)
    models.unlink()
    try:
        os.kill(killed, signal.SIGKILL)
        assert parent.process.stderr is not None
        while "cannot start" not in parent.process.stderr.readline():
            assert parent.process.poll() is None
        _wait(lambda: parent.said("failing") == 1)
        assert parent.said("accepting") == WORKERS - 1
        assert parent.workers() >= before - {killed}
        assert parent.answers()
    finally:
        models.symlink_to(ROOT / "model_repository")
    _wait(lambda: parent.said("accepting") == WORKERS)
    assert parent.said("failing") == 0


def test_sigterm_ends_every_worker(parent: Parent) -> None:
    workers = parent.workers()
    parent.process.terminate()
    assert parent.process.wait(20) == 0
    assert _gone(workers)


def test_workers_end_when_their_parent_was_killed(parent: Parent) -> None:
    workers = parent.workers()
    parent.process.kill()
    parent.process.wait()
    _wait(lambda: _gone(workers))


def test_a_taken_port_is_one_line_and_no_workers(parent: Parent, environ: dict[str, str]) -> None:
    own = {f"{PREFIX}PORT": str(parent.port), f"{PREFIX}WORKERS": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "frontend", "serve"],
        cwd=ROOT,
        env={**os.environ, **environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "cannot start" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_worker_that_cannot_start_ends_them_all(environ: dict[str, str]) -> None:
    started = Parent({**environ, f"{PREFIX}MODEL_REPOSITORY": "/nowhere"})
    _, said = started.process.communicate(timeout=60)
    assert started.process.returncode == 2
    assert "cannot start" in said
