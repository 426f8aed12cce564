"""The measuring tool, against a small server whose times are known."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.benchmark import load, machine, report
from scripts.benchmark.inputs import OPERATIONS, Call, calls
from scripts.benchmark.load import Sample
from scripts.benchmark.loop_delay import bound
from scripts.benchmark.triton_counts import TritonCounts, between

CALL = Call("/embeddings", 10, {"input": "a"})


class Server:
    """Answers after ``delay`` seconds; every ``failing``-th call gets 502. ``most`` is how many were under way."""

    def __init__(self) -> None:
        self.delay, self.failing, self.answered, self.under_way, self.most = 0.02, 0, 0, 0, 0
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._answer)
        self.server = TestServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.delay)
        self.under_way -= 1
        self.answered += 1
        failed = self.failing and self.answered % self.failing == 0
        return web.json_response({}, status=502 if failed else 200)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    running = Server()
    await running.server.start_server()
    yield running
    await running.server.close()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[load.Client]:
    async with load.connected(str(server.server.make_url("/v1")), "key") as connected:
        yield connected


async def test_a_closed_loop_never_has_more_calls_than_callers(client: load.Client, server: Server) -> None:
    samples = await load.closed(client, [CALL], 4, 0.3)
    assert server.most == 4
    assert len(samples) == server.answered


async def test_an_open_loop_does_not_wait_for_answers(client: load.Client, server: Server) -> None:
    server.delay = 0.5
    samples = await load.poisson(client, [CALL], 50, 0.5, seed=1)
    assert server.most > 4
    assert 10 <= len(samples) <= 40


async def test_time_counts_from_when_a_call_was_due(client: load.Client, server: Server) -> None:
    sample = await client.send(CALL, time.perf_counter() - 1)
    assert sample.seconds >= 1


async def test_a_burst_sends_all_at_once(client: load.Client, server: Server) -> None:
    await load.burst(client, [CALL] * 9)
    assert server.most == 9


async def test_a_server_that_is_away_is_a_sample_too() -> None:
    async with load.connected("http://127.0.0.1:1/v1", "") as client:
        assert (await client.send(CALL, time.perf_counter())).status == 0


async def test_errors_do_not_count_as_throughput(client: load.Client, server: Server) -> None:
    server.failing = 2
    run = report.result("embeddings", "burst", "words", await load.burst(client, [CALL] * 10), {})
    assert run.errors == {"502": 5}
    assert run.units_a_second == pytest.approx(5 * 10 / run.seconds, rel=0.02)


def test_percentiles_are_of_the_calls_that_succeeded() -> None:
    samples = [Sample(0.0, number / 100, 200, 1) for number in range(1, 101)] + [Sample(0.0, 9.0, 502, 1)]
    run = report.result("embeddings", "closed", "words", samples, {})
    assert run.latency["p50"] == pytest.approx(0.505)
    assert run.latency["max"] == 1.0


@pytest.mark.parametrize("operation", ["embeddings", "rerank", "speech"])
def test_calls_are_the_same_for_the_same_seed(operation: str) -> None:
    assert calls(operation, 5, seed=3) == calls(operation, 5, seed=3) != calls(operation, 5, seed=4)


def test_texts_are_of_mixed_lengths() -> None:
    lengths = [len(text.split()) for call in calls("embeddings", 50, 1) for text in (call.body or {})["input"]]
    assert min(lengths) < 20
    assert max(lengths) > 300


def test_clips_last_5_to_15_seconds() -> None:
    (call,) = calls("transcriptions", 1, 1)
    assert 5 <= call.units <= 15
    assert len(call.file or b"") == 44 + 2 * round(call.units * 16_000)


def test_triton_is_counted_between_two_moments() -> None:
    before = {"m": {"requests": 2.0, "executions": 2.0, "queue_ns": 0.0, "compute_ns": 0.0}}
    after = {"m": {"requests": 10.0, "executions": 4.0, "queue_ns": 16e6, "compute_ns": 80e6}, "n": before["m"]}
    found = between(before, {**after, "n": {**before["m"], "requests": 0.0}})
    assert found == {"m": {"requests": 8.0, "executions": 2.0, "mean_batch": 4.0, "queue_ms": 2.0, "compute_ms": 10.0}}


async def test_without_a_triton_there_is_nothing_to_count() -> None:
    assert await TritonCounts("").read() == {}


def test_everything_is_written(tmp_path: Path) -> None:
    samples = [Sample(0.0, 0.1, 200, 1)]
    run = report.result("embeddings", "closed", OPERATIONS["embeddings"].unit, samples, {})
    report.write(tmp_path, machine.describe(), [run], [samples])
    assert json.loads((tmp_path / "results.json").read_text())["results"][0]["calls"] == 1
    assert "| embeddings | closed |" in (tmp_path / "results.md").read_text()
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.001), (0.9, 0.01), (1.0, float("inf"))])
def test_a_share_of_a_histogram_lies_below_a_bucket(share: float, seconds: float) -> None:
    before = {0.001: 10.0, 0.01: 10.0, float("inf"): 10.0}
    after = {0.001: 60.0, 0.01: 105.0, float("inf"): 110.0}
    assert bound(before, after, share) == seconds
