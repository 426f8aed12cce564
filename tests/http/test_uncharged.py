"""An answer that has a price goes out charged or not at all, whichever way a handler sends it."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import ServerDisconnectedError, web
from aiohttp.test_utils import TestClient
from sqlalchemy import func, select

from frontend.app import create_app
from frontend.app_keys import BILL
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from frontend.errors import BadGateway
from frontend.http.arrival import CONTENT
from frontend.usage.bill import UnchargedError
from tests.conftest import KEY, Client, ProductServer
from tests.fakes import FakeTriton

_SECRET = b"what was worked for"
Sends = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def _stream(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(_SECRET)
    return answer


async def _whole_by_hand(request: web.Request) -> web.StreamResponse:
    answer = web.Response(body=_SECRET)
    await answer.prepare(request)
    await answer.write_eof()
    return answer


async def _unprepared(request: web.Request) -> web.StreamResponse:
    return web.StreamResponse()


async def _file(request: web.Request) -> web.StreamResponse:
    return web.FileResponse(Path(__file__))


async def _payload(request: web.Request) -> web.StreamResponse:
    return web.Response(body=aiohttp.payload.StringPayload(_SECRET.decode()))


async def _not_modified(request: web.Request) -> web.StreamResponse:
    return web.Response(status=304)


async def _raised(request: web.Request) -> web.StreamResponse:
    raise web.HTTPOk(text=_SECRET.decode())


async def _raised_not_modified(request: web.Request) -> web.StreamResponse:
    raise web.HTTPNotModified


async def _charged_later(request: web.Request) -> web.StreamResponse:
    answer = await _whole_by_hand(request)
    await request[BILL].reserve("tts-1", 10)
    return answer


async def _twice(request: web.Request) -> web.StreamResponse:
    await request[BILL].reserve("tts-1", 10)
    return web.Response(body=_SECRET)


async def _delivered(request: web.Request) -> web.StreamResponse:
    return web.Response(body=_SECRET)


async def _failed(request: web.Request) -> web.StreamResponse:
    return web.Response(status=502, body=b"{}")


async def _failed_by_exception(request: web.Request) -> web.StreamResponse:
    raise BadGateway("no")


async def _refused_by_exception(request: web.Request) -> web.StreamResponse:
    raise web.HTTPNotFound


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    """The application with a path of each kind: all but one reserve before they answer."""

    def reserving(send: Sends) -> Sends:
        async def handler(request: web.Request) -> web.StreamResponse:
            request[CONTENT] = b""
            if send is not _charged_later:
                await request[BILL].reserve("tts-1", 10)
            return await send(request)

        return handler

    app = create_app(settings, connect=FakeTriton)
    for name, send in globals().items():
        if name.startswith("_") and isinstance(send, type(_stream)):
            app.router.add_get(f"/v1/test/{name}", reserving(send))
    async with TestClient(ProductServer(app, settings), headers={"Authorization": f"Bearer {KEY}"}) as connected:
        yield connected


async def _call(client: Client, send: Sends) -> tuple[int, bytes]:
    async with client.get(f"/v1/test/{getattr(send, '__name__')}") as answer:  # noqa: B009 - a callable has none
        return answer.status, await answer.read()


async def _charges(client: Client, settings: Settings) -> Any:
    await client.close()
    engine = open_engine(settings.database)
    async with engine.connect() as connection:
        count = await connection.scalar(select(func.count()).select_from(USAGE_EVENTS))
    await engine.dispose()
    return count


@pytest.mark.parametrize(
    "send",
    [_stream, _whole_by_hand, _unprepared, _file, _payload, _not_modified, _raised, _raised_not_modified],
)
async def test_an_answer_that_nobody_charges_for_does_not_go_out(
    client: Client, settings: Settings, send: Sends
) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        status, body = await _call(client, send)
        assert (status, _SECRET in body) == (500, False)
    assert await _charges(client, settings) == 0


async def test_work_cannot_be_begun_after_its_answer(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        await _call(client, _charged_later)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [UnchargedError]


async def test_a_request_has_one_price(client: Client, settings: Settings) -> None:
    assert (await _call(client, _twice))[0] == 500
    assert await _charges(client, settings) == 0


async def test_an_answer_that_is_delivered_is_charged(client: Client, settings: Settings) -> None:
    assert await _call(client, _delivered) == (200, _SECRET)
    assert await _charges(client, settings) == 1


@pytest.mark.parametrize(
    ("send", "status"), [(_failed, 502), (_failed_by_exception, 502), (_refused_by_exception, 404)]
)
async def test_a_failure_is_free(client: Client, settings: Settings, send: Sends, status: int) -> None:
    assert (await _call(client, send))[0] == status
    assert await _charges(client, settings) == 0
