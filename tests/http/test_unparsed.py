"""Requests that aiohttp's parser refuses get the answers of the contract."""

import pytest

from tests.conftest import Client
from tests.http.calls import EMBED, EMBEDDED
from tests.raw import answer as read_answer
from tests.raw import ask, connection, head


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


METHODS = "BREW get TRACE OPTIONS PUT PROPFIND QUERY SOURCE DESCRIBE CONNECT !#$%&'*+-.^_`|~"


async def test_a_method_that_no_route_has_is_405_and_says_which_are_right(client: Client) -> None:
    for method in METHODS.split():
        refusal = await ask(client.server.port, head(method, f"{EMBED}?x=1#y", "X-Request-Id: r-1"))
        assert (refusal.status, refusal.headers["allow"]) == (405, "POST"), method
        assert (refusal.error["type"], refusal.headers["x-request-id"]) == ("invalid_request_error", "r-1"), method
        assert (await ask(client.server.port, head(method, "/v1/nothing"))).status == 404, method


async def test_a_method_that_no_route_has_is_405_on_a_connection_in_use(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(EMBEDDED)
        assert (await read_answer(reader)).status == 200
        writer.write(head("BREW", "/v1/models"))
        refusal = await read_answer(reader)
        assert (refusal.status, refusal.headers["allow"]) == (405, "GET,HEAD")
        assert await reader.read() == b""


@pytest.mark.parametrize("size", [9_000, 60_000, 2_000_000])
async def test_a_token_of_any_length_is_401_in_the_words_of_its_kind(client: Client, size: int) -> None:
    for path, word in (("/v1/models", "API key"), ("/api/v1/audio/voices", "token")):
        refusal = await ask(client.server.port, head("GET", path, "X-A: b", key="k" * size))
        assert (refusal.status, refusal.error["type"]) == (401, "invalid_api_key")
        assert word in refusal.error["message"]


async def test_another_header_that_is_too_long_is_no_token(client: Client) -> None:
    assert (await ask(client.server.port, head("GET", "/v1/models", "X-A: " + "b" * 9_000))).status == 400


@pytest.mark.parametrize("data", [head("GET", "/v1/models"), head("GET", "/v1/nothing"), b"nonsense\r\n\r\n"])
async def test_no_answer_names_the_framework(client: Client, data: bytes) -> None:
    assert (await ask(client.server.port, data)).headers["server"] == "quartet"
