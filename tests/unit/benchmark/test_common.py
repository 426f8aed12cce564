"""Requests, shapes of load against a small server whose times are known, and summaries."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import Call, calls
from scripts.benchmark.common.load import Sample
from scripts.benchmark.common.summary import summary

CALL = Call("/embeddings", 10, {"input": "a"})


class Server:
    """Answers its ``client`` after ``delay`` seconds; ``most`` is how many calls were under way at once."""

    client: load.Client

    def __init__(self) -> None:
        self.delay, self.answered, self.under_way, self.most = 0.02, 0, 0, 0
        self.answer: dict[str, object] = {}
        self.app = web.Application()
        self.app.router.add_post("/v1/embeddings", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.delay)
        self.under_way -= 1
        self.answered += 1
        return web.json_response(self.answer)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    async with TestServer(made.app) as running, load.connected(str(running.make_url("/v1")), "key") as made.client:
        yield made


async def test_a_closed_loop_never_has_more_calls_than_callers(server: Server) -> None:
    samples = await load.closed(server.client, [CALL], 4, 0.3)
    assert (server.most, server.answered) == (4, len(samples))


async def test_an_open_loop_does_not_wait_for_answers(server: Server) -> None:
    server.delay = 0.5
    samples = await load.poisson(server.client, [CALL], 50, 0.5, seed=1)
    assert server.most > 4
    assert 10 <= len(samples) <= 40


async def test_time_counts_from_when_a_call_was_due(server: Server) -> None:
    assert (await server.client.send(CALL, time.perf_counter() - 1)).seconds >= 1


async def test_a_burst_sends_all_at_once(server: Server) -> None:
    await load.burst(server.client, [CALL] * 9)
    assert server.most == 9


async def test_a_server_that_is_away_is_a_sample_too() -> None:
    async with load.connected("http://127.0.0.1:1/v1", "") as client:
        assert (await client.send(CALL, time.perf_counter())).status == 0


async def test_every_call_is_sent_once_whatever_the_callers(server: Server) -> None:
    samples = await load.each_once(server.client, [Call("/embeddings", units, CALL.body) for units in range(7)], 3)
    assert sorted(sample.units for sample in samples) == list(range(7))
    assert (server.answered, server.most) == (7, 3)


@pytest.mark.parametrize(("answer", "units"), [({}, 10.0), ({"usage": {"prompt_tokens": 7, "total_tokens": 7}}, 7.0)])
async def test_the_unit_of_work_is_the_answers_tokens(server: Server, answer: dict[str, object], units: float) -> None:
    server.answer = answer
    (sample,) = await load.burst(server.client, [CALL])
    assert sample.units == units


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


def test_errors_do_not_count_as_throughput() -> None:
    result = summary([Sample(0.0, 2.0, 200, 10), Sample(1.0, 3.0, 200, 10), Sample(1.0, 1.0, 502, 10)])
    assert (result.units_a_second, result.calls_a_second, result.errors, result.failed) == (5, 0.5, {"502": 1}, 1)


def test_percentiles_are_of_the_calls_that_succeeded() -> None:
    result = summary([Sample(0.0, number / 100, 200, 1) for number in range(1, 101)] + [Sample(0.0, 9.0, 502, 1)])
    assert result.percentile("p50") == pytest.approx(0.505)
    assert result.latency["max"] == 1.0


def test_without_a_successful_call_every_latency_is_infinite() -> None:
    assert summary([Sample(0.0, 1.0, 502, 1)]).percentile("p95") == float("inf")
