"""Answers without a body, read as bytes: if one had a body, all later answers of its connection would be misread."""

import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.catalogue.endpoints import ADMIN_KEY, MOBILE_TOKEN, auth_of
from frontend.config.settings import Settings
from tests.conftest import KEY, Client, ProductServer
from tests.fakes import FakeTriton
from tests.http import calls
from tests.raw import connection, head

pytestmark = pytest.mark.settings(admin_key=calls.ADMIN_KEY, chat_upstream="http://127.0.0.1:1/v1")
_IN_PATH = re.compile(r"\{[^}]+\}")


async def _with_status(request: web.Request) -> web.Response:
    return web.Response(body=b"never sent", status=int(request.match_info["status"]))


async def _raw(port: int | None, method: str, path: str, token: str) -> tuple[bytes, bytes]:
    """The head of an answer, and whatever came after it until the connection ended."""
    async with connection(port) as (reader, writer):
        writer.write(head(method, path, "Connection: close", key=token))
        headers, _, rest = (await reader.read(-1)).partition(b"\r\n\r\n")
        return headers, rest


@pytest.fixture
async def whole(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    """Everything that can be switched on, with routes that answer any status."""
    app = create_app(settings, connect=lambda address: triton)
    app.add_routes([web.get(f"{start}/with/{{status}}", _with_status) for start in ("/v1", "/api/v1", "/open")])
    async with TestClient(ProductServer(app, settings)) as connected:
        yield connected


async def test_head_is_answered_like_get_without_a_body_on_every_path(whole: Client, mobile: dict[str, str]) -> None:
    tokens = {ADMIN_KEY: calls.ADMIN_KEY, MOBILE_TOKEN: mobile["Authorization"].removeprefix("Bearer ")}
    paths = {route.resource.canonical for route in whole.app.router.routes() if route.resource}
    for path in sorted(_IN_PATH.sub("stt-1", path) for path in paths if "{status}" not in path):
        token = tokens.get(auth_of(path) or "", KEY)
        headers_of_get, body = await _raw(whole.port, "GET", path, token)
        headers, rest = await _raw(whole.port, "HEAD", path, token)
        assert rest == b"", path
        assert _compared(headers) == _compared(headers_of_get), path
        assert b"Content-Length: %d" % len(body) in headers or path == "/metrics", path


def _compared(headers: bytes) -> list[bytes]:
    """Without what differs from one answer to the next."""
    ever_other = (b"x-request-id", b"date", b"content-length")
    return [line for line in headers.split(b"\r\n") if not line.lower().startswith(ever_other)]


@pytest.mark.parametrize("start", ["/v1", "/api/v1", "/open"])
@pytest.mark.parametrize("status", [204, 304])
async def test_a_204_or_304_has_no_body_whatever_its_handler_returns(
    whole: Client, mobile: dict[str, str], start: str, status: int
) -> None:
    token = mobile["Authorization"].removeprefix("Bearer ") if start == "/api/v1" else KEY
    headers, rest = await _raw(whole.port, "GET", f"{start}/with/{status}", token)
    assert headers.startswith(b"HTTP/1.1 %d " % status)
    assert rest == b""
    assert b"content-length" not in headers.lower()
