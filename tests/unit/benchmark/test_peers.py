"""The comparison with peers: its sides, and the ratios it reports."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.benchmark.inputs import Call
from scripts.benchmark.load import connected, each_once
from scripts.benchmark.peers import ratios
from scripts.benchmark.peers.sides import Case, HttpSide, PeerError, WorkerSide, server, worker
from scripts.benchmark.target import Target

PYTHON = Path(sys.executable)
WORKERS = Path(ratios.__file__).parent / "workers"


class FixedSide:
    """Takes the times it was given, one a run."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = iter(seconds)

    def run(self) -> float:
        return next(self._seconds)


def _case() -> Case:
    sides = {"Quartet": FixedSide(9, 1, 2, 1), "peer": FixedSide(9, 3, 4, 8)}
    return Case("embeddings", "tokens", 100, dict(sides))


def test_the_first_round_only_warms_up() -> None:
    assert [row.seconds for row in ratios.compare(_case(), 3)] == [[1, 2, 1], [3, 4, 8]]


def test_ratios_compare_within_a_round() -> None:
    own, peer = ratios.compare(_case(), 3)
    assert own.ratios["Quartet"] == ratios.Ratio(1, 1, 1)
    assert peer.ratios["Quartet"] == ratios.Ratio(3, 2, 8)


def test_rates_are_of_the_median_round() -> None:
    assert [row.rate for row in ratios.compare(_case(), 3)] == [100, 25]


def test_results_are_written_as_json_table_and_plot(tmp_path: Path) -> None:
    ratios.write(tmp_path, {"cpu": "x"}, ratios.compare(_case(), 3))
    assert json.loads((tmp_path / "peers.json").read_text())["rows"][1]["ratios"]["Quartet"]["median"] == 3
    assert "| peer | 25.0 | 3.00 (2.00 to 8.00) |" in (tmp_path / "peers.md").read_text()
    assert (tmp_path / "peers.png").stat().st_size > 1000


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


@pytest.fixture
async def answering() -> AsyncIterator[tuple[str, list[str]]]:
    """An address that refuses the text "bad", and the texts it was sent."""
    received: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        received.append((await request.json())["input"])
        return web.Response(status=500 if received[-1] == "bad" else 200)

    app = web.Application()
    app.router.add_post("/v1/embeddings", answer)
    running = TestServer(app)
    await running.start_server()
    yield str(running.make_url("/v1")), received
    await running.close()


async def test_every_call_is_sent_once_whatever_the_callers(answering: tuple[str, list[str]]) -> None:
    address, received = answering
    async with connected(address, "") as client:
        samples = await each_once(client, [Call("/embeddings", 0, {"input": str(n)}) for n in range(7)], 3)
    assert sorted(received) == [str(n) for n in range(7)]
    assert [sample.status for sample in samples] == [200] * 7


async def test_a_side_that_answers_with_an_error_is_no_side(answering: tuple[str, list[str]]) -> None:
    side = HttpSide(Target(answering[0], "", ""), [Call("/embeddings", 0, {"input": "bad"})], 1)
    with pytest.raises(PeerError, match="500"):
        await side.send()
