"""A client that closes its writing side gets its answer; one that disconnects is in the log and the metrics as 499."""

import asyncio
import logging
import re
from functools import partial
from itertools import groupby

import pytest

from frontend.http import connection as connections
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, EMBEDDED, SPEAK, SPOKEN, logged, speak_long
from tests.raw import connection, head, post


async def _noted(client: Client, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """One line in the log, and one request in the metrics, both with status 499."""
    await until(lambda: logged(caplog))
    assert [line["status"] for line in logged(caplog)] == [499]
    text = await (await client.get("/metrics")).text()
    assert re.search(rf'quartet_requests_total{{.*route="{path}",status="499",tier="free"}} [1-9]', text)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "quartet")


async def test_a_disconnect_while_the_model_works_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(EMBEDDED)
        await until(lambda: bool(triton.calls))
        # Who ends at once what it sends may only want to say that there is no more to come.
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
    await _noted(client, caplog, EMBED)


async def test_a_disconnect_in_the_middle_of_a_body_is_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    async with connection(client.server.port) as (_, writer):
        writer.write(head("POST", EMBED, "Content-Length: 100") + b'{"input": "a"}')
        await writer.drain()
        await asyncio.sleep(0.1)
    await _noted(client, caplog, EMBED)


async def test_a_disconnect_in_the_middle_of_an_answer_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (reader, writer):
        writer.write(SPOKEN)
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()
    await _noted(client, caplog, SPEAK)


async def test_a_disconnect_after_the_answer_is_not_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    await client.post(EMBED, json={"input": "a"})
    assert [line["status"] for line in logged(caplog)] == [200]


async def _until_the_end(port: int | None, data: bytes) -> bytes:
    """All that comes back to a client that writes no more after ``data``."""
    async with connection(port) as (reader, writer):
        writer.write(data)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)


async def test_a_client_that_closes_its_writing_side_gets_its_answer(client: Client, triton: FakeTriton) -> None:
    triton.wait = partial(asyncio.sleep, 2 * connections._HALF_CLOSE_SECONDS)
    answer = await _until_the_end(client.server.port, EMBEDDED)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"embedding"' in answer


async def test_a_client_that_closes_its_writing_side_gets_all_its_answers(client: Client) -> None:
    answers = await _until_the_end(client.server.port, EMBEDDED * 50)
    assert answers.count(b"HTTP/1.1 200 ") == 50


async def test_a_long_request_is_answered_though_its_client_closes_its_writing_side(client: Client) -> None:
    text = b'{"input": "' + b"word " * 100_000 + b'"}'
    answer = await _until_the_end(client.server.port, post(EMBED, text))
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_INTERIM_SECONDS", 0.1)


@pytest.mark.usefixtures("_impatient")
async def test_clients_that_close_for_good_at_once_are_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = asyncio.Event().wait
    for _ in range(3):
        async with connection(client.server.port) as (_, writer):
            writer.write(EMBEDDED)
    await until(lambda: [line["status"] for line in logged(caplog)] == [499] * 3)


@pytest.mark.usefixtures("_impatient")
async def test_a_client_that_closes_its_writing_side_has_interim_responses_before_a_late_answer(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = partial(asyncio.sleep, 0.35)
    answers = (await _until_the_end(client.server.port, EMBEDDED * 2)).split(b"HTTP/1.1 ")
    statuses = [status for status, _ in groupby(answer[:3] for answer in answers[1:])]
    assert statuses == [b"100", b"200", b"100", b"200"]


@pytest.mark.usefixtures("_impatient")
async def test_an_answer_that_has_begun_has_no_interim_responses(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (reader, writer):
        writer.write(SPOKEN)
        writer.write_eof()
        await reader.readuntil(b" 200 OK")
        await asyncio.sleep(0.3)
        assert b"100 Continue" not in await reader.read()


@pytest.mark.usefixtures("_impatient")
async def test_a_client_of_http_1_0_that_closes_its_writing_side_gets_no_late_answer(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = asyncio.Event().wait
    assert await _until_the_end(client.server.port, EMBEDDED.replace(b"HTTP/1.1", b"HTTP/1.0")) == b""


@pytest.mark.parametrize("data", [b"", b"GET /v1/mod", head("POST", EMBED, "Content-Length: 100") + b"{"])
async def test_a_client_that_closes_before_its_request_is_whole_gets_none(client: Client, data: bytes) -> None:
    assert await _until_the_end(client.server.port, data) == b""


async def test_a_client_that_closes_its_writing_side_later_gets_no_answer(client: Client, triton: FakeTriton) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBEDDED)
        await until(lambda: bool(triton.calls))
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b""
