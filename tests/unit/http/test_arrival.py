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
    """The answer to a body of which a piece comes every 20 ms."""
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


async def test_who_was_invited_to_send_a_body_hears_of_a_fault_of_ours() -> None:
    async def fails(request: web.Request) -> web.Response:
        await _length(request)
        raise RuntimeError("ours")

    async with serving(fails, SETTINGS, middlewares=()) as port:
        answer = await _post(port, b"abc", "Expect: 100-continue")
    assert (answer.continued, answer.status) == (True, 500)


@pytest.mark.parametrize("coding", ["", " ", "identity", "Identity", "identity, identity"])
async def test_a_coding_that_changes_nothing_is_none(port: int, coding: str) -> None:
    assert (await _post(port, b"abc", f"Content-Encoding: {coding}")).status == 200


@pytest.mark.parametrize("coding", ["gzip", ", gzip", "identity, br"])
async def test_a_compressed_body_is_415(port: int, coding: str) -> None:
    assert (await _post(port, b"abc", f"Content-Encoding: {coding}")).status == 415


async def test_a_body_without_a_length_is_counted(port: int) -> None:
    chunk = b"%x\r\n%s\r\n" % (10_000, b" " * 10_000)
    for count, status in ((5, 200), (6, 413)):
        request = head("POST", "/known", "Transfer-Encoding: chunked") + count * chunk + b"0\r\n\r\n"
        assert (await ask(port, request)).status == status


async def test_a_body_that_stops_coming_is_408(port: int, caplog: pytest.LogCaptureFixture) -> None:
    # The deadline is shorter than the time over which the rate is taken: both end together, and it fails once.
    refusal = await ask(port, head("POST", "/known", "Content-Length: 100"))
    assert (refusal.status, refusal.error["type"]) == (408, "request_timeout")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(("piece", "length", "status"), [(10, 40_000, 408), (1_000, 30_000, 200)])
async def test_a_body_below_the_lowest_rate_is_408(
    port: int, monkeypatch: pytest.MonkeyPatch, piece: int, length: int, status: int
) -> None:
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    assert (await _drip(port, b"x" * piece, length)).status == status


@pytest.fixture
async def patient_port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A server where the deadline of the whole body is not what ends one that is too slow."""
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    settings = dataclasses.replace(SETTINGS, body_seconds=300.0, max_body_bytes=5_000_000)

    async def length(request: web.Request) -> web.Response:
        return await _length(request, settings)

    async with serving(length, settings) as port:
        yield port


async def test_a_body_that_stalls_is_408_though_it_began_fast(patient_port: int) -> None:
    stalling = head("POST", "/known", "Content-Length: 5000000") + b"x" * 1_000_000
    assert (await ask(patient_port, stalling)).status == 408


async def test_a_body_that_stalls_is_408_though_it_came_fast_for_long(patient_port: int) -> None:
    async with connection(patient_port) as (reader, writer):
        writer.write(head("POST", "/known", "Content-Length: 5000000"))
        # Over two windows of the rate and into a third.
        for _ in range(25):
            writer.write(b"x" * 100_000)
            await asyncio.sleep(0.02)
        assert (await read_answer(reader)).status == 408


async def test_a_body_that_breaks_off_is_400(port: int) -> None:
    request = head("POST", "/known", "Transfer-Encoding: chunked") + b"5\r\nabcde\r\nzz\r\n"
    assert (await ask(port, request)).status == 400
