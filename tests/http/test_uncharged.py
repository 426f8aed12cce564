"""An answer with a price is charged or not sent, however a handler sends it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.app_keys import BILLING
from frontend.billing.bill import CONTENT, Bill
from frontend.config.settings import Settings
from frontend.errors import BadGateway
from frontend.http.answers import deliver
from tests.charges import charges
from tests.conftest import KEY, ROOT, Client, ProductServer, bearer
from tests.fakes import FakeTriton

_SECRET = b"what was worked for"
Sends = Callable[[web.Request], Awaitable[web.StreamResponse]]
BILL = web.RequestKey("bill", Bill)


async def _let_go(request: web.Request) -> web.StreamResponse:
    request[BILL].release()
    return web.Response(body=_SECRET)


async def _delivered(request: web.Request) -> web.StreamResponse:
    return await deliver(request, {}, _SECRET)


async def _delivered_in_pieces(request: web.Request) -> web.StreamResponse:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield _SECRET

    return await deliver(request, {}, pieces())


async def _left(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return await _delivered(request)


def _returned(answer: Callable[[], web.StreamResponse]) -> Sends:
    async def send(request: web.Request) -> web.StreamResponse:
        return answer()

    return send


def _raised(error: Callable[[], Exception]) -> Sends:
    async def send(request: web.Request) -> web.StreamResponse:
        raise error()

    return send


PAID: dict[str, Sends] = {
    "delivered": _delivered,
    "in pieces": _delivered_in_pieces,
    "returned": _returned(lambda: web.Response(body=_SECRET)),
}
NOT_SENT: dict[str, Sends] = {
    "let go": _let_go,
    "unprepared": _returned(web.StreamResponse),
    "a file": _returned(lambda: web.FileResponse(Path(__file__))),
    "a payload": _returned(lambda: web.Response(body=aiohttp.payload.StringPayload(_SECRET.decode()))),
    # The work ends with an exception, which releases the bill.
    "raised": _raised(lambda: web.HTTPOk(text=_SECRET.decode())),
    "not modified": _returned(lambda: web.Response(status=304)),
    "raised not modified": _raised(web.HTTPNotModified),
}
FAILS: dict[str, tuple[Sends, int]] = {
    "returned": (_returned(lambda: web.Response(status=502, body=b"{}")), 502),
    "our error": (_raised(lambda: BadGateway("no")), 502),
    "aiohttp's error": (_raised(web.HTTPNotFound), 404),
}


@pytest.fixture
async def client(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """The application with a path that reserves, and then sends as the test wants."""
    send: Sends = request.param

    async def handler(request: web.Request) -> web.StreamResponse:
        request[CONTENT] = b""
        async with request[BILLING].reserve("tts-1", 10) as request[BILL]:
            return await send(request)

    app = create_app(settings, connect=FakeTriton)
    app.router.add_get("/v1/test", handler)
    async with TestClient(ProductServer(app, settings), headers=bearer(KEY)) as connected:
        yield connected


async def _call(client: Client) -> tuple[int, bytes]:
    async with client.get("/v1/test") as answer:
        return answer.status, await answer.read()


@pytest.mark.parametrize("client", PAID.values(), ids=PAID, indirect=True)
async def test_an_answer_is_charged_however_its_handler_sends_it(client: Client, settings: Settings) -> None:
    assert await _call(client) == (200, _SECRET)
    assert len(await charges(client, settings)) == 1


@pytest.mark.parametrize("client", NOT_SENT.values(), ids=NOT_SENT, indirect=True)
async def test_an_answer_that_cannot_be_charged_is_500(client: Client, settings: Settings) -> None:
    status, body = await _call(client)
    assert (status, _SECRET in body) == (500, False)
    assert len(await charges(client, settings)) == 0


@pytest.mark.parametrize(("client", "status"), FAILS.values(), ids=FAILS, indirect=["client"])
async def test_a_failure_is_free(client: Client, settings: Settings, status: int) -> None:
    assert (await _call(client))[0] == status
    assert len(await charges(client, settings)) == 0


@pytest.mark.parametrize("client", [_left], indirect=True)
async def test_an_answer_whose_caller_left_before_its_first_byte_is_free(client: Client, settings: Settings) -> None:
    with pytest.raises(aiohttp.ClientError):
        await _call(client)
    assert len(await charges(client, settings)) == 0


def test_what_sends_answers_itself_asks_for_their_bill() -> None:
    """The answer of a live session is its handshake; its items have bills of their own."""
    sources = {path: path.read_text("utf-8") for path in (ROOT / "frontend").rglob("*.py")}
    senders = {f"{path.parent.name}/{path.name}": text for path, text in sources.items() if ".prepare(" in text}
    assert {name for name, text in senders.items() if "bill_of(request" not in text} <= {"realtime/handler.py"}
    assert "http/answers.py" in senders
