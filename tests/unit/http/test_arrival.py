import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from frontend.config.settings import Settings
from frontend.http import arrival
from frontend.http.json import read_bytes
from frontend.http.memory import MemoryBudget, MemoryReservation
from tests.raw import Answer, ask, connection, head, post
from tests.raw import answer as read_answer
from tests.serving import serving

SETTINGS = Settings(body_seconds=3.0, max_body_bytes=50_000)


async def _length(request: web.Request, settings: Settings = SETTINGS) -> web.Response:
    with MemoryReservation(MemoryBudget(1 << 30), "a") as holding:
        return web.Response(text=str(len(await read_bytes(request, settings, holding))))


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server that answers with the length of a body."""
    async with serving(_length, SETTINGS) as port:
        yield port


async def _post(port: int, body: bytes, *lines: str) -> Answer:
    return await ask(port, post("/known", body, *lines))


async def _drip(port: int, piece: bytes, length: int) -> Answer:
    """The answer to a body that arrives in pieces every 20 ms."""
    async with connection(port) as (reader, writer):
        writer.write(head("POST", "/known", f"Content-Length: {length}"))
        answered = asyncio.ensure_future(read_answer(reader))
        while not answered.done():
            writer.write(piece)
            await asyncio.sleep(0.02)
        return answered.result()


async def test_an_unknown_expectation_is_ignored(port: int) -> None:
    answer = await _post(port, b"abc", "Expect: wonders")
    assert (answer.status, answer.body, answer.continued) == (200, b"3", False)


async def test_a_client_that_received_100_continue_receives_500_for_our_error() -> None:
    async def fails(request: web.Request) -> web.Response:
        await _length(request)
        raise RuntimeError("ours")

    async with serving(fails, SETTINGS, middlewares=()) as port:
        answer = await _post(port, b"abc", "Expect: 100-continue")
    assert (answer.continued, answer.status) == (True, 500)


@pytest.mark.parametrize("coding", ["", " ", "identity", "Identity", "identity, identity"])
async def test_the_identity_coding_is_accepted(port: int, coding: str) -> None:
    assert (await _post(port, b"abc", f"Content-Encoding: {coding}")).status == 200


@pytest.mark.parametrize("coding", ["gzip", ", gzip", "identity, br"])
async def test_a_compressed_body_is_415(port: int, coding: str) -> None:
    assert (await _post(port, b"abc", f"Content-Encoding: {coding}")).status == 415


async def test_a_chunked_body_has_the_same_limit_of_size(port: int) -> None:
    chunk = b"%x\r\n%s\r\n" % (10_000, b" " * 10_000)
    for count, status in ((5, 200), (6, 413)):
        request = head("POST", "/known", "Transfer-Encoding: chunked") + count * chunk + b"0\r\n\r\n"
        assert (await ask(port, request)).status == status


async def test_a_body_that_stops_is_408(port: int, caplog: pytest.LogCaptureFixture) -> None:
    # The deadline is shorter than the window of the rate. Both end together, and the body fails once.
    refusal = await ask(port, head("POST", "/known", "Content-Length: 100"))
    assert (refusal.status, refusal.error["type"]) == (408, "request_timeout")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(("piece", "length", "status"), [(10, 40_000, 408), (1_000, 30_000, 200)])
async def test_a_body_below_the_minimum_rate_is_408(
    port: int, monkeypatch: pytest.MonkeyPatch, piece: int, length: int, status: int
) -> None:
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    assert (await _drip(port, b"x" * piece, length)).status == status


@pytest.fixture
async def patient_port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A server where only the minimum rate ends a slow body."""
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    settings = dataclasses.replace(SETTINGS, body_seconds=300.0, max_body_bytes=5_000_000)

    async def length(request: web.Request) -> web.Response:
        return await _length(request, settings)

    async with serving(length, settings) as port:
        yield port


@pytest.mark.parametrize("pieces", [1, 25], ids=["at once", "after two windows of the rate"])
async def test_a_body_that_stalls_is_408_although_it_began_fast(patient_port: int, pieces: int) -> None:
    async with connection(patient_port) as (reader, writer):
        writer.write(head("POST", "/known", "Content-Length: 5000000"))
        for _ in range(pieces):
            writer.write(b"x" * 100_000)
            await asyncio.sleep(0.02)
        assert (await read_answer(reader)).status == 408


async def test_a_body_that_breaks_off_is_400(port: int) -> None:
    request = head("POST", "/known", "Transfer-Encoding: chunked") + b"5\r\nabcde\r\nzz\r\n"
    assert (await ask(port, request)).status == 400
