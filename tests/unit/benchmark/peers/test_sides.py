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
SCRIPT = f"""import sys, time
sys.path.insert(0, {str(WORKERS)!r})
from line_server import serve
printed_to = sys.stdout
serve(lambda task: print("hello", file=printed_to, flush=True) or time.sleep(task))
"""


def test_a_worker_tells_how_long_each_task_took_whatever_it_prints_until_it_ends(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    with worker(PYTHON, tmp_path / "log", str(tmp_path / "script.py")) as process:
        assert 0.05 <= WorkerSide(process, 0.05).run() < 5
        with pytest.raises(PeerError):
            WorkerSide(process, "no seconds").run()
    assert "hello" in (tmp_path / "log").read_text()


def test_a_worker_hands_over_what_it_made_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"{SCRIPT.rsplit('serve', 1)[0]}serve(lambda task: task)", encoding="utf-8")
    with worker(PYTHON, tmp_path / "log", str(tmp_path / "script.py")) as process:
        assert WorkerSide(process, [[1, 2]]).answer(tmp_path / "answer.npy").tolist() == [[1, 2]]


def test_a_worker_without_an_answer_hands_over_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    with worker(PYTHON, tmp_path / "log", str(tmp_path / "script.py")) as process:
        assert WorkerSide(process, 0).answer(tmp_path / "answer.npy").size == 0


def test_a_peers_server_is_waited_for_and_stopped(tmp_path: Path) -> None:
    command = (PYTHON, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", tmp_path)
    with server(command, "/", tmp_path / "log") as address:
        assert address.startswith("http://127.0.0.1:")
    with pytest.raises(PeerError), server((PYTHON, "-c", "pass"), "/", tmp_path / "log"):
        pass


async def test_a_side_that_answers_with_an_error_is_no_side() -> None:
    async with TestServer(web.Application()) as refusing:
        side = HttpSide(Target(str(refusing.make_url("/v1"))), [Call("/embeddings", 0, {"input": "a"})], 1)
        with pytest.raises(PeerError, match="404"):
            await side.send()
