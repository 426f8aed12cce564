"""How a process ends for its callers: every answer is the last of its connection, and nothing that has come is lost."""

import asyncio
from functools import partial

import pytest

from frontend.http.runner import Runner
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import answer, connection, head, post

EMBED = post("/v1/embeddings", b'{"input": "a"}')


def _runner(client: Client) -> Runner:
    assert isinstance(client.server.runner, Runner)
    return client.server.runner


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (head("GET", "/v1/models"), 200),
        (head("GET", "/v1/models", key="wrong"), 401),
        (head("GET", "/nothing"), 404),
        (head("GET", "/dashboard"), 200),
        (head("GET", "/health/ready"), 200),
        (b"no request\r\n\r\n", 400),
        (EMBED, 200),
        (post("/v1/audio/speech", b'{"input": "Hello.", "voice": "amy"}'), 200),
    ],
    ids=["models", "a wrong key", "no path", "a file", "health", "no HTTP", "JSON", "speech"],
)
async def test_on_the_way_to_the_end_every_answer_ends_its_connection(
    client: Client, request_bytes: bytes, status: int
) -> None:
    _runner(client).state.closing = True
    async with connection(client.server.port) as (reader, writer):
        writer.write(request_bytes)
        got = await answer(reader)
        assert (got.status, got.headers["connection"]) == (status, "close")
        assert await reader.read() == b""


async def test_a_kept_connection_is_told_with_its_next_answer(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        for closing, said in ((False, None), (True, "close")):
            _runner(client).state.closing = closing
            writer.write(EMBED)
            assert (await answer(reader)).headers.get("connection") == said
        assert await reader.read() == b""


async def test_requests_sent_one_behind_the_other_are_all_answered_before_the_end(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = partial(asyncio.sleep, 0.2)
    async with connection(client.server.port) as (reader, writer):
        writer.write(3 * EMBED)
        await until(lambda: bool(triton.calls))
        ended = asyncio.create_task(_runner(client).cleanup())
        answers = [await answer(reader) for _ in range(3)]
        assert [(each.status, each.headers.get("connection")) for each in answers] == [
            (200, None),
            (200, None),
            (200, "close"),
        ]
        assert await reader.read() == b""
    await ended


async def test_at_the_end_a_body_on_its_way_is_waited_for_and_an_idle_connection_is_closed(client: Client) -> None:
    async with connection(client.server.port) as (idle, other), connection(client.server.port) as (reader, writer):
        other.write(EMBED)
        assert (await answer(idle)).status == 200
        writer.write(EMBED[:-3])
        await asyncio.sleep(0.05)
        ended = asyncio.create_task(_runner(client).cleanup())
        assert await idle.read() == b""
        writer.write(EMBED[-3:])
        assert (await answer(reader)).status == 200
    await ended


async def test_what_is_under_way_is_dropped_by_who_hurries(client: Client, triton: FakeTriton) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBED)
        await until(lambda: bool(triton.calls))
        _runner(client).hurry()
        await _runner(client).cleanup()
        assert await reader.read() == b""


async def test_one_that_stops_is_not_ready_and_says_why(client: Client) -> None:
    _runner(client).state.stopping = True
    async with client.get("/health/ready") as response:
        assert (response.status, "shutting down" in (await response.json())["reason"]) == (503, True)
    async with client.get("/health/live") as response:
        assert response.status == 200
