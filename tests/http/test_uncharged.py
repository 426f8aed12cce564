"""An answer that has a price goes out charged or not at all, whichever way a handler sends it."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import ServerDisconnectedError, web
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.app_keys import BILLING
from frontend.config.settings import Settings
from frontend.errors import BadGateway
from frontend.http.answers import deliver
from frontend.http.arrival import CONTENT
from frontend.usage.bill import Bill, UnchargedError
from tests.charges import charges
from tests.conftest import KEY, Client, ProductServer
from tests.fakes import FakeTriton

_SECRET = b"what was worked for"
Sends = Callable[[web.Request], Awaitable[web.StreamResponse]]
BILL = web.RequestKey("bill", Bill)


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


async def _returned(request: web.Request) -> web.StreamResponse:
    return web.Response(body=_SECRET)


async def _without_bill(request: web.Request) -> web.StreamResponse:
    return await deliver(request, {}, _SECRET)


async def _let_go(request: web.Request) -> web.StreamResponse:
    request[BILL].let_go()
    return web.Response(body=_SECRET)


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
    request[BILLING].reserve("tts-1", 10)
    return answer


async def _delivered(request: web.Request) -> web.StreamResponse:
    return await deliver(request, {}, _SECRET, request[BILL])


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
            if send is _charged_later:
                return await send(request)
            async with request[BILLING].reserve("tts-1", 10) as request[BILL]:
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


@pytest.mark.parametrize(
    "send",
    [
        _stream,
        _whole_by_hand,
        _returned,
        _without_bill,
        _let_go,
        _unprepared,
        _file,
        _payload,
        _not_modified,
        _raised,
        _raised_not_modified,
    ],
)
async def test_an_answer_that_nobody_charges_for_does_not_go_out(
    client: Client, settings: Settings, send: Sends
) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        status, body = await _call(client, send)
        assert (status, _SECRET in body) == (500, False)
    assert len(await charges(client, settings)) == 0


async def test_work_cannot_be_begun_after_its_answer(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        await _call(client, _charged_later)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [UnchargedError]


async def test_an_answer_that_is_delivered_is_charged(client: Client, settings: Settings) -> None:
    assert await _call(client, _delivered) == (200, _SECRET)
    assert len(await charges(client, settings)) == 1


@pytest.mark.parametrize(
    ("send", "status"), [(_failed, 502), (_failed_by_exception, 502), (_refused_by_exception, 404)]
)
async def test_a_failure_is_free(client: Client, settings: Settings, send: Sends, status: int) -> None:
    assert (await _call(client, send))[0] == status
    assert len(await charges(client, settings)) == 0
