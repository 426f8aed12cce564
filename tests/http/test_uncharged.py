"""An answer with a price is charged or not sent, however a handler sends it."""

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
from tests.conftest import KEY, Client, ProductServer, bearer
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


async def _without_bill(request: web.Request) -> web.StreamResponse:
    return await deliver(request, {}, _SECRET)


async def _let_go(request: web.Request) -> web.StreamResponse:
    request[BILL].release()
    return web.Response(body=_SECRET)


async def _charged_later(request: web.Request) -> web.StreamResponse:
    answer = await _whole_by_hand(request)
    request[BILLING].reserve("tts-1", 10)
    return answer


async def _delivered(request: web.Request) -> web.StreamResponse:
    return await deliver(request, {}, _SECRET, request[BILL])


def _returned(answer: Callable[[], web.StreamResponse]) -> Sends:
    async def send(request: web.Request) -> web.StreamResponse:
        return answer()

    return send


def _raised(error: Callable[[], Exception]) -> Sends:
    async def send(request: web.Request) -> web.StreamResponse:
        raise error()

    return send


BY_HAND: dict[str, Sends] = {
    "a stream": _stream,
    "by hand": _whole_by_hand,
    "without its bill": _without_bill,
}
RETURNED: dict[str, Sends] = {
    "let go": _let_go,
    "whole": _returned(lambda: web.Response(body=_SECRET)),
    "unprepared": _returned(web.StreamResponse),
    "a file": _returned(lambda: web.FileResponse(Path(__file__))),
    "a payload": _returned(lambda: web.Response(body=aiohttp.payload.StringPayload(_SECRET.decode()))),
    "not modified": _returned(lambda: web.Response(status=304)),
    "raised": _raised(lambda: web.HTTPOk(text=_SECRET.decode())),
    "raised not modified": _raised(web.HTTPNotModified),
}
FAILS: dict[str, tuple[Sends, int]] = {
    "returned": (_returned(lambda: web.Response(status=502, body=b"{}")), 502),
    "our error": (_raised(lambda: BadGateway("no")), 502),
    "aiohttp's error": (_raised(web.HTTPNotFound), 404),
}


@pytest.fixture
async def client(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """The application with a path that sends as the test wants, which reserves before it answers unless it is later."""
    send: Sends = request.param

    async def handler(request: web.Request) -> web.StreamResponse:
        request[CONTENT] = b""
        if send is _charged_later:
            return await send(request)
        async with request[BILLING].reserve("tts-1", 10) as request[BILL]:
            return await send(request)

    app = create_app(settings, connect=FakeTriton)
    app.router.add_get("/v1/test", handler)
    async with TestClient(ProductServer(app, settings), headers=bearer(KEY)) as connected:
        yield connected


async def _call(client: Client) -> tuple[int, bytes]:
    async with client.get("/v1/test") as answer:
        return answer.status, await answer.read()


@pytest.mark.parametrize("client", BY_HAND.values(), ids=BY_HAND, indirect=True)
async def test_an_answer_that_is_sent_without_a_charge_breaks_off(client: Client, settings: Settings) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        status, body = await _call(client)
        assert (status, _SECRET in body) == (500, False)
    assert len(await charges(client, settings)) == 0


@pytest.mark.parametrize("client", RETURNED.values(), ids=RETURNED, indirect=True)
async def test_an_answer_that_is_returned_without_a_charge_is_500(client: Client, settings: Settings) -> None:
    status, body = await _call(client)
    assert (status, _SECRET in body) == (500, False)
    assert len(await charges(client, settings)) == 0


@pytest.mark.parametrize("client", [_charged_later], indirect=True)
async def test_work_cannot_begin_after_its_answer(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.suppress(ServerDisconnectedError):
        await _call(client)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [UnchargedError]


@pytest.mark.parametrize("client", [_delivered], indirect=True)
async def test_an_answer_that_is_delivered_is_charged(client: Client, settings: Settings) -> None:
    assert await _call(client) == (200, _SECRET)
    assert len(await charges(client, settings)) == 1


@pytest.mark.parametrize(("client", "status"), FAILS.values(), ids=FAILS, indirect=["client"])
async def test_a_failure_is_free(client: Client, settings: Settings, status: int) -> None:
    assert (await _call(client))[0] == status
    assert len(await charges(client, settings)) == 0
