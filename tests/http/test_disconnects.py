"""A client that disconnects, or closes its writing side, is in the log and the metrics as 499."""

import asyncio
import logging
import re
from contextlib import suppress

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.http.answers import deliver
from tests.conftest import Client, ProductServer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, EMBEDDED, SPEAK, SPOKEN, logged, speak_long
from tests.raw import connection, head


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


async def _hang_up(request: web.Request) -> web.StreamResponse:
    """As a caller who goes in the last moment: the answer begins before the server can cancel it."""
    assert request.transport is not None
    request.transport.abort()
    return await deliver(request, {}, b"a")


async def test_a_disconnect_as_an_answer_begins_is_no_error_of_the_server(
    settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(settings, connect=lambda address: triton)
    app.add_routes([web.get("/v1/gone", _hang_up)])
    async with TestClient(ProductServer(app, settings)) as client:
        async with connection(client.server.port) as (reader, writer):
            writer.write(head("GET", "/v1/gone"))
            with suppress(ConnectionError):
                assert await reader.read() == b""
        await _noted(client, caplog, "/v1/gone")
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_disconnect_after_the_answer_is_not_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    await client.post(EMBED, json={"input": "a"})
    assert [line["status"] for line in logged(caplog)] == [200]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET /v1/mod",
        head("POST", EMBED, "Content-Length: 100") + b"{",
        EMBEDDED,
        EMBEDDED.replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
)
async def test_a_client_that_closes_its_writing_side_counts_as_gone(
    client: Client, triton: FakeTriton, data: bytes
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(data)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b""


async def test_clients_that_close_at_once_are_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = asyncio.Event().wait
    for _ in range(3):
        async with connection(client.server.port) as (_, writer):
            writer.write(EMBEDDED)
            await writer.drain()
            await asyncio.sleep(0.05)
    await until(lambda: [line["status"] for line in logged(caplog)] == [499] * 3)
