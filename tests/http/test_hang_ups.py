"""A client that writes no more waits for its answer, or has gone: then that is in the log and in the metrics."""

import asyncio
import logging
import re
from functools import partial

import numpy as np
import pytest

from frontend.http import admission
from frontend.http import connection as connections
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import connection, head, post

EMBED, SPEECH = "/v1/embeddings", "/v1/audio/speech"
_TEXT = b'{"input": "hello"}'
REQUEST = post(EMBED, b'{"input": "a"}')
_SPOKEN = b'{"input": "hello", "voice": "amy"}'


def _statuses(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.fields["status"] for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]


async def _noted(client: Client, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """One line in the log, and one request in the metrics, both with status 499."""
    await until(lambda: bool(_statuses(caplog)))
    assert _statuses(caplog) == [499]
    text = await (await client.get("/metrics")).text()
    assert re.search(rf'quartet_requests_total{{.*route="{path}",status="499",tier="free"}} [1-9]', text)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "quartet")


async def test_who_leaves_while_the_model_works_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(post(EMBED, _TEXT))
        await until(lambda: bool(triton.calls))
        # Who ends at once what it sends may only want to say that there is no more to come.
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
    await _noted(client, caplog, EMBED)


async def test_who_leaves_in_the_middle_of_its_body_is_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    async with connection(client.server.port) as (_, writer):
        writer.write(head("POST", EMBED, "Content-Length: 100") + _TEXT)
        await writer.drain()
        await asyncio.sleep(0.1)
    await _noted(client, caplog, EMBED)


async def test_who_leaves_in_the_middle_of_its_answer_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    # More sound than the kernel's buffers take: seven minutes.
    triton.spoil = lambda arrays: {"output": np.ones((1, 1, 1, 22_050 * 420), np.float32)}
    async with connection(client.server.port) as (reader, writer):
        writer.write(post(SPEECH, _SPOKEN))
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()
    await _noted(client, caplog, SPEECH)


async def test_who_leaves_after_its_answer_has_had_it(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    await client.post(EMBED, data=_TEXT)
    assert _statuses(caplog) == [200]


async def _until_the_end(port: int | None, data: bytes) -> bytes:
    """All that comes back to a client that writes no more after ``data``."""
    async with connection(port) as (reader, writer):
        writer.write(data)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)


async def test_a_client_that_closes_its_writing_side_gets_its_answer(client: Client, triton: FakeTriton) -> None:
    triton.wait = partial(asyncio.sleep, 2 * connections._HALF_CLOSE_SECONDS)
    answer = await _until_the_end(client.server.port, REQUEST)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"embedding"' in answer


async def test_a_client_that_closes_its_writing_side_gets_all_its_answers(client: Client) -> None:
    answers = await _until_the_end(client.server.port, REQUEST * 50)
    assert answers.count(b"HTTP/1.1 200 ") == 50


async def test_a_long_request_is_answered_though_its_client_closes_its_writing_side(client: Client) -> None:
    text = b'{"input": "' + b"word " * 100_000 + b'"}'
    answer = await _until_the_end(client.server.port, post(EMBED, text))
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_of_many_clients_that_close_at_once_few_are_taken_to_wait(client: Client, triton: FakeTriton) -> None:
    going = asyncio.Event()
    triton.wait = going.wait
    assert client.server.runner is not None
    server = client.server.runner.server
    assert server is not None
    for _ in range(10):
        async with connection(client.server.port) as (_, writer):
            writer.write(REQUEST)
    await until(lambda: len(server.connections) == admission.HALF_CLOSED_AT_ONCE)
    going.set()
    await until(lambda: not server.connections)
    assert (await _until_the_end(client.server.port, REQUEST)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("data", [b"", b"GET /v1/mod", head("POST", EMBED, "Content-Length: 100") + b"{"])
async def test_a_client_that_closes_before_its_request_is_whole_gets_none(client: Client, data: bytes) -> None:
    assert await _until_the_end(client.server.port, data) == b""


async def test_a_client_that_closes_its_writing_side_later_has_hung_up(client: Client, triton: FakeTriton) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(REQUEST)
        await until(lambda: bool(triton.calls))
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b""
