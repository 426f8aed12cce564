"""How a process ends for its callers: every answer closes its connection, and no request in flight is lost."""

import asyncio

import pytest

from frontend.config.settings import Settings
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBEDDED, SPOKEN, runner_of
from tests.raw import answer, connection, head


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (head("GET", "/v1/models"), 200),
        (head("GET", "/v1/models", key="wrong"), 401),
        (head("GET", "/nothing"), 404),
        (head("GET", "/dashboard"), 200),
        (head("GET", "/health/ready"), 503),
        (b"no request\r\n\r\n", 400),
        (EMBEDDED, 200),
        (SPOKEN, 200),
    ],
    ids=["models", "a wrong key", "no path", "a file", "health", "no HTTP", "JSON", "speech"],
)
async def test_a_process_that_ends_closes_a_connection_with_its_answer(
    client: Client, request_bytes: bytes, status: int
) -> None:
    runner_of(client).state.closing = True
    async with connection(client.server.port) as (reader, writer):
        writer.write(request_bytes)
        got = await answer(reader)
        assert (got.status, got.headers["connection"]) == (status, "close")
        assert await reader.read() == b""


async def test_a_kept_connection_is_closed_with_its_next_answer(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        for closing, said in ((False, None), (True, "close")):
            runner_of(client).state.closing = closing
            writer.write(EMBEDDED)
            assert (await answer(reader)).headers.get("connection") == said
        assert await reader.read() == b""


async def test_at_the_end_an_unfinished_body_is_awaited_and_idle_connections_are_closed(client: Client) -> None:
    async with connection(client.server.port) as (idle, other), connection(client.server.port) as (reader, writer):
        other.write(EMBEDDED)
        assert (await answer(idle)).status == 200
        writer.write(EMBEDDED[:-3])
        await asyncio.sleep(0.05)
        ended = asyncio.create_task(runner_of(client).cleanup())
        await asyncio.sleep(0.2)
        writer.write(EMBEDDED[-3:])
        assert (await answer(reader)).status == 200
        assert await reader.read() == b""
        assert await idle.read() == b""
    await ended


async def test_a_request_that_arrives_on_a_kept_connection_while_others_end_is_answered(
    client: Client, triton: FakeTriton
) -> None:
    async with connection(client.server.port) as (kept, other), connection(client.server.port) as (reader, writer):
        other.write(EMBEDDED)
        assert (await answer(kept)).status == 200
        gate = asyncio.Event()
        triton.wait = gate.wait
        writer.write(EMBEDDED)
        await until(lambda: len(triton.calls) == 2)
        ended = asyncio.create_task(runner_of(client).cleanup())
        await asyncio.sleep(0.1)
        other.write(head("GET", "/v1/models"))
        late = await answer(kept)
        assert (late.status, late.headers["connection"]) == (200, "close")
        gate.set()
        assert (await answer(reader)).status == 200
    await ended


@pytest.mark.parametrize("longest", [0.1, 3600.0])
async def test_a_hurried_end_or_a_long_one_drops_the_requests_in_flight(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch, longest: float
) -> None:
    monkeypatch.setattr(Settings, "longest_drain_seconds", longest)
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer), asyncio.timeout(20):
        writer.write(EMBEDDED)
        await until(lambda: bool(triton.calls))
        if longest > 1:
            runner_of(client).hurry()
        await runner_of(client).cleanup()
        assert await reader.read() == b""


async def test_a_frontend_that_stops_is_not_ready_and_says_why(client: Client) -> None:
    runner_of(client).state.closing = True
    async with client.get("/health/ready") as response:
        assert (response.status, "shutting down" in (await response.json())["reason"]) == (503, True)
    assert (await client.get("/health/live")).status == 200
