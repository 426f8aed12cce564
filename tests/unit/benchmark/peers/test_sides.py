"""The comparison with peers: its sides."""

import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.target import Target
from scripts.benchmark.peers import ratios
from scripts.benchmark.peers.sides import HttpSide, PeerError, WorkerSide, server, worker

PYTHON = Path(sys.executable)
WORKERS = Path(ratios.__file__).parent / "workers"


def _script(folder: Path, body: str) -> str:
    path = folder / "script.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(WORKERS)!r})\n{body}", encoding="utf-8")
    return str(path)


def test_a_worker_tells_how_long_each_task_took(tmp_path: Path) -> None:
    script = _script(tmp_path, "import time\nfrom line_server import serve\nserve(lambda task: time.sleep(task))")
    with worker(PYTHON, tmp_path / "log", script) as process:
        assert 0.05 <= WorkerSide(process, 0.05).run() < 5
        assert 0 <= WorkerSide(process, 0).run() < 5
    assert process.poll() == 0


def test_what_a_worker_prints_disturbs_nothing(tmp_path: Path) -> None:
    script = _script(tmp_path, "from line_server import serve\nserve(print)")
    with worker(PYTHON, tmp_path / "log", script) as process:
        WorkerSide(process, "hello").run()
    assert "hello" in (tmp_path / "log").read_text()


def test_a_worker_that_ends_is_an_error(tmp_path: Path) -> None:
    script = _script(tmp_path, "from line_server import serve\nserve(lambda task: sys.exit(1))")
    with worker(PYTHON, tmp_path / "log", script) as process, pytest.raises(PeerError):
        WorkerSide(process, 1).run()


def test_a_peers_server_is_waited_for_and_stopped(tmp_path: Path) -> None:
    command = (PYTHON, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", tmp_path)
    with server(command, "/", tmp_path / "log") as address:
        assert address.startswith("http://127.0.0.1:")
    with pytest.raises(PeerError), server((PYTHON, "-c", "pass"), "/", tmp_path / "log"):
        pass


async def test_a_side_that_answers_with_an_error_is_no_side() -> None:
    async with TestServer(web.Application()) as refusing:
        side = HttpSide(Target(str(refusing.make_url("/v1")), "", ""), [Call("/embeddings", 0, {"input": "a"})], 1)
        with pytest.raises(PeerError, match="404"):
            await side.send()
