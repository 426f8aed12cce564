"""HTTP as bytes: what the parser refuses or should refuse, long heads, and answers without a body."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.app_keys import PATHS
from frontend.catalogue.endpoints import ADMIN_KEY, MOBILE_TOKEN
from frontend.config.settings import Settings
from tests.conftest import JWT_SECRET, KEY, Client, ProductServer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http import calls
from tests.http.calls import EMBED, EMBEDDED
from tests.live import PATH as LIVE
from tests.raw import answer as read_answer
from tests.raw import ask, connection, head, post
from tests.refusals import fault_of

pytestmark = pytest.mark.settings(admin_key=calls.ADMIN_KEY, chat_upstream="http://127.0.0.1:1/v1")
_IN_PATH = re.compile(r"\{[^}]+\}")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
        head("POST", EMBED, "Content-Length: -1"),
        head("POST", EMBED, "Content-Length: 1", "Transfer-Encoding: chunked"),
        head("GET", "/" + "x" * 20_000),
        b"BR(EW / HTTP/1.1\r\n\r\n",
        b"A" * 65 + b" / HTTP/1.1\r\n\r\n",
    ],
)
async def test_malformed_http_is_400_in_the_shape_of_the_contract(client: Client, data: bytes) -> None:
    refusal = await ask(client.server.port, data)
    assert refusal.status == 400
    assert refusal.error["type"] == "invalid_request_error"
    assert refusal.headers["x-request-id"]


_CHUNKS = b'e\r\n{"input": "a"}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    "data",
    [
        *(
            head("GET", path).replace(b"HTTP/1.1", version)
            for path in ("/v1/models", "/health/live", "/nothing")
            for version in (b"HTTP/0.9", b"HTTP/2.0")
        ),
        EMBEDDED.replace(b"HTTP/1.1", b"HTTP/2.0"),
        *(
            head("POST", EMBED, f"Transfer-Encoding: {codings}") + _CHUNKS
            for codings in ("gzip, chunked", "identity, chunked", "gzip,identity, chunked", "identity", "gzip", "")
        ),
    ],
)
async def test_what_the_parser_takes_and_should_not_is_400_and_ends_the_connection(client: Client, data: bytes) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(data)
        assert re.fullmatch(rb"HTTP/1\.[01] 400 Bad Request\r\n", await reader.readline())
        rest = await reader.read()
    assert b"invalid_request_error" in rest
    assert b"\r\nHTTP/1.1" not in rest


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/nothing"), ("GET", "/nothing"), ("GET", EMBED)])
async def test_an_unknown_expectation_is_400_where_there_is_nothing(client: Client, method: str, path: str) -> None:
    refusal = await ask(client.server.port, head(method, path, "Expect: bogus"))
    assert (refusal.status, fault_of(refusal)) == (400, "")


async def test_an_unknown_expectation_changes_nothing_where_there_is_something(client: Client) -> None:
    assert (await ask(client.server.port, head("GET", "/v1/models", "Expect: bogus"))).status == 200


@pytest.mark.parametrize("path", [EMBED, "/v1/nothing", "/health/live"])
@pytest.mark.parametrize("key", [KEY, "wrong"])
async def test_a_body_of_connect_is_no_request(client: Client, path: str, key: str) -> None:
    within = head("GET", "/v1/models")
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("CONNECT", path, f"Content-Length: {len(within)}", key=key) + within)
        refusal = await read_answer(reader)
        assert (refusal.status, fault_of(refusal)) == (400, "")
        with suppress(ConnectionError):
            assert await reader.read() == b""


@pytest.mark.parametrize("codings", ["chunked", "Chunked", "  chunked  "])
async def test_a_body_may_be_chunked(client: Client, codings: str) -> None:
    data = head("POST", EMBED, f"Transfer-Encoding: {codings}") + _CHUNKS
    assert (await ask(client.server.port, data)).status == 200


async def test_http_1_0_is_answered(client: Client) -> None:
    data = head("GET", "/v1/models").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert (await ask(client.server.port, data)).status == 200


async def test_a_method_that_no_route_has_is_405_and_says_which_are_right(client: Client) -> None:
    for method in ("TRACE", "OPTIONS", "PUT", "PROPFIND", "QUERY", "SOURCE"):
        refusal = await ask(client.server.port, head(method, f"{EMBED}?x=1#y", "X-Request-Id: r-1"))
        assert (refusal.status, refusal.headers["allow"]) == (405, "POST"), method
        assert (refusal.error["type"], refusal.headers["x-request-id"]) == ("invalid_request_error", "r-1"), method
        assert (await ask(client.server.port, head(method, "/v1/nothing"))).status == 404, method


@pytest.mark.parametrize("method", ["BREW", "get", "DESCRIBE", "!#$%&'*+-.^_`|~"])
async def test_a_method_that_the_parser_does_not_know_is_400_and_ends_the_connection(
    client: Client, method: str
) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBEDDED)
        assert (await read_answer(reader)).status == 200
        writer.write(head(method, EMBED))
        refusal = await read_answer(reader)
        assert (refusal.status, refusal.error["type"]) == (400, "invalid_request_error")
        assert await reader.read() == b""


@pytest.mark.parametrize("size", [9_000, 16 * 1024])
async def test_a_long_token_is_401_in_the_words_of_its_kind(client: Client, size: int) -> None:
    for path, word in (("/v1/models", "API key"), ("/api/v1/audio/voices", "token")):
        refusal = await ask(client.server.port, head("GET", path, "X-A: b", key="k" * size))
        assert (refusal.status, refusal.error["type"]) == (401, "invalid_api_key")
        assert word in refusal.error["message"]


@pytest.mark.parametrize("lines", [["Cookie: " + "b" * 16 * 1024], [f"X-{number}: b" for number in range(120)]])
async def test_headers_as_large_as_peers_take_pass(client: Client, lines: list[str]) -> None:
    assert (await ask(client.server.port, head("GET", "/v1/models", *lines))).status == 200


async def test_a_mobile_token_may_be_as_long_as_a_header(client: Client) -> None:
    claims = {"sub": "anna", "aud": "quartet-mobile", "iss": "quartet", "iat": time.time(), "exp": time.time() + 60}
    token = jwt.encode({**claims, "roles": ["r" * 60] * 170}, JWT_SECRET)
    assert len(token) > 14_000
    assert (await ask(client.server.port, head("GET", "/api/v1/audio/voices", key=token))).status == 200


@pytest.mark.parametrize(
    "data",
    [
        *(head("GET", "/v1/models", "Cookie: " + "b" * size) for size in (20_000, 60_000)),
        head("GET", "/v1/models", key="k" * 20_000),
        *(head("GET", "/v1/models?x=" + "x" * size) for size in (20_000, 100_000)),
    ],
)
async def test_an_address_or_a_header_that_is_too_long_is_called_so(client: Client, data: bytes) -> None:
    refusal = await ask(client.server.port, data)
    assert (refusal.status, refusal.error["message"]) == (400, "the address or a header is too long")


async def test_too_many_headers_are_400(client: Client) -> None:
    lines = [f"X-{number}: b" for number in range(130)]
    assert (await ask(client.server.port, head("GET", "/v1/models", *lines))).status == 400


async def _until_cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> int:
    """How many bytes of these, again and again, a connection takes before it ends."""
    sent = 0
    with suppress(ConnectionError):
        while not reader.at_eof():
            writer.write(data)
            sent += len(data)
            await asyncio.sleep(0.001)
    return sent


@pytest.mark.parametrize("line", [b"X: " + b"b" * 10_000 + b"\r\n", b"\r\n" * 5_000], ids=["headers", "empty lines"])
async def test_a_head_that_never_ends_is_cut_off_before_it_fills_the_memory(client: Client, line: bytes) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("GET", "/v1/models")[:-2] if b":" in line else b"")
        assert await _until_cut_off(reader, writer, line) < 1_000_000


async def test_heads_behind_a_request_that_runs_are_cut_off_before_they_fill_the_memory(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBEDDED)
        await until(lambda: bool(triton.calls))
        large = head("GET", "/v1/models", *(f"X-{number}: {'b' * 15_000}" for number in range(4)))
        assert await _until_cut_off(reader, writer, large) < 1_000_000


async def test_small_requests_behind_one_that_runs_wait_for_it(client: Client, triton: FakeTriton) -> None:
    gate = asyncio.Event()
    triton.wait = gate.wait
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBEDDED + head("GET", "/v1/models", "X: b") * 100)
        await asyncio.sleep(0.2)
        gate.set()
        assert [(await read_answer(reader)).status for _ in range(101)] == [200] * 101


async def test_a_body_does_not_count_as_headers(client: Client) -> None:
    texts = b'{"input": "%s"}' % (b"a " * 60_000)
    async with connection(client.server.port) as (reader, writer):
        for key in ("wrong", KEY, KEY):
            writer.write(post(EMBED, texts, key=key))
            assert (await read_answer(reader)).status == (401 if key == "wrong" else 200)


@pytest.mark.parametrize("data", [head("GET", "/v1/models"), head("GET", "/v1/nothing"), b"nonsense\r\n\r\n"])
async def test_no_answer_names_the_framework(client: Client, data: bytes) -> None:
    assert (await ask(client.server.port, data)).headers["server"] == "quartet"


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
    # A WebSocket has no HEAD.
    paths = {route.resource.canonical for route in whole.app.router.routes() if route.resource} - {LIVE}
    for path in sorted(_IN_PATH.sub("stt-1", path) for path in paths if "{status}" not in path):
        token = tokens.get(whole.app[PATHS].auth_of(path) or "", KEY)
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
