"""What happens around a request: invitations, deadlines, refusals while the client still sends."""

import asyncio
import dataclasses
import http.client
from typing import Any

import pytest

from frontend.config.settings import Settings
from frontend.dispatch.triton import Arrays
from frontend.http import admission, arrival
from frontend.http import connection as connections
from tests.conftest import KEY, Client, running
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import answer as read_answer
from tests.raw import ask, connection, head

EMBED = "/v1/embeddings"
TRANSCRIBE = "/v1/audio/transcriptions"
FORM = "Content-Type: multipart/form-data; boundary=x"
JSON = b'{"input": "a"}'


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return dataclasses.replace(settings, header_seconds=0.3, body_seconds=3.0)


async def test_a_body_is_invited_when_key_and_size_are_right(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, f"Content-Length: {len(JSON)}", "Expect: 100-continue"))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(JSON)
        assert (await read_answer(reader)).status == 200


@pytest.mark.parametrize(
    ("path", "lines", "key", "status"),
    [
        (EMBED, ["Content-Length: 14"], "wrong", 401),
        (EMBED, ["Content-Length: 1000000000"], KEY, 413),
        (TRANSCRIBE, ["Content-Length: 1000000000", FORM], KEY, 413),
        (TRANSCRIBE, ["Content-Length: 1000000000000000000", FORM], KEY, 413),
        (EMBED, ["Content-Length: 14", "Content-Encoding: gzip"], KEY, 415),
        ("/v1/nothing", ["Content-Length: 14"], KEY, 404),
        ("/v1/models", ["Content-Length: 14"], KEY, 405),
    ],
    ids=["a wrong key", "a long body", "a long form", "an endless form", "packed", "no path", "no method"],
)
async def test_a_body_that_would_be_refused_is_not_invited(
    client: Client, path: str, lines: list[str], key: str, status: int
) -> None:
    refusal = await ask(client.server.port, head("POST", path, "Expect: 100-continue", *lines, key=key))
    assert (refusal.status, refusal.continued) == (status, False)


async def test_an_unknown_expectation_is_ignored(client: Client) -> None:
    request = head("POST", EMBED, f"Content-Length: {len(JSON)}", "Expect: wonders") + JSON
    assert (await ask(client.server.port, request)).status == 200


async def test_a_client_that_sends_everything_first_can_read_the_413(client: Client) -> None:
    def send() -> int:
        plain = http.client.HTTPConnection("127.0.0.1", client.server.port or 0)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "multipart/form-data; boundary=x"}
        plain.request("POST", TRANSCRIBE, b"x" * 60_000_000, headers)
        status = plain.getresponse().status
        plain.close()
        return status

    assert await asyncio.to_thread(send) == 413


async def test_a_client_that_sends_slowly_can_read_the_413(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Content-Length: 100000000"))
        for _ in range(20):
            writer.write(b"x" * 10_000)
            await asyncio.sleep(0.05)
        assert (await read_answer(reader)).status == 413


async def test_an_upload_without_a_length_is_refused_after_25_mb(client: Client) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    chunk = b"x" * 1_000_000
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", TRANSCRIBE, FORM, "Transfer-Encoding: chunked"))
        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        for _ in range(27):
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        assert (await read_answer(reader)).status == 413


async def test_a_body_that_stops_coming_is_408(client: Client) -> None:
    refusal = await ask(client.server.port, head("POST", EMBED, "Content-Length: 100"))
    assert (refusal.status, refusal.error["type"]) == (408, "request_timeout")


async def test_a_body_late_and_slow_at_once_fails_once(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    # The deadline is shorter than the time over which the rate is taken: both end together.
    await ask(client.server.port, head("POST", EMBED, "Content-Length: 100"))
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_body_below_the_lowest_rate_is_408(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Content-Length: 100000"))
        answered = asyncio.ensure_future(read_answer(reader))
        while not answered.done():
            writer.write(b"x" * 10)
            await asyncio.sleep(0.02)
        assert answered.result().status == 408


async def test_an_upload_that_stalls_is_408_though_it_began_fast(
    settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    async with (
        # The deadline of the whole body is not what ends it.
        running(dataclasses.replace(settings, body_seconds=300.0), triton) as client,
        connection(client.server.port) as (reader, writer),
    ):
        writer.write(head("POST", TRANSCRIBE, FORM, "Content-Length: 5000000") + part + b"x" * 1_000_000)
        assert (await read_answer(reader)).status == 408


async def test_json_without_a_length_is_refused_at_the_limit(client: Client) -> None:
    chunk = b"%x\r\n%s\r\n" % (1_000_000, b" " * 1_000_000)
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Transfer-Encoding: chunked") + 5 * chunk)
        refusal = await read_answer(reader)
    assert (refusal.status, refusal.error["type"]) == (413, "request_too_large")


async def test_a_body_above_the_lowest_rate_is_taken(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "_RATE_SECONDS", 0.2)
    text = b'{"input": "' + b"x" * 20_000 + b'"}'
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, f"Content-Length: {len(text)}"))
        for start in range(0, len(text), 2_000):
            writer.write(text[start : start + 2_000])
            await asyncio.sleep(0.05)
        assert (await read_answer(reader)).status == 200


async def test_a_connection_that_sends_no_headers_is_closed(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(b"POST /v1/embeddings HTTP/1.1\r\n")
        assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_a_connection_stays_open_after_its_first_answer(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        for _ in range(2):
            writer.write(head("GET", "/v1/models"))
            assert (await read_answer(reader)).status == 200
            await asyncio.sleep(0.5)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
        head("POST", EMBED, "Content-Length: -1"),
        head("POST", EMBED, "Content-Length: 1", "Transfer-Encoding: chunked"),
        head("GET", "/" + "x" * 20_000),
    ],
)
async def test_what_is_no_http_is_400_in_the_shape_of_the_contract(client: Client, data: bytes) -> None:
    refusal = await ask(client.server.port, data)
    assert refusal.status == 400
    assert refusal.error["type"] == "invalid_request_error"
    assert refusal.headers["x-request-id"]


METHODS = (
    "BREW",
    "get",
    "TRACE",
    "OPTIONS",
    "PUT",
    "PROPFIND",
    "QUERY",
    "SOURCE",
    "DESCRIBE",
    "CONNECT",
    "!#$%&'*+-.^_`|~",
)


async def test_a_method_that_no_route_has_is_405_and_says_which_are_right(client: Client) -> None:
    for method in METHODS:
        refusal = await ask(client.server.port, head(method, f"{EMBED}?x=1#y", "X-Request-Id: r-1"))
        assert (refusal.status, refusal.headers["allow"]) == (405, "POST"), method
        assert (refusal.error["type"], refusal.headers["x-request-id"]) == ("invalid_request_error", "r-1"), method
        assert (await ask(client.server.port, head(method, "/v1/nothing"))).status == 404, method


async def test_a_method_that_no_route_has_is_405_on_a_connection_in_use(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, f"Content-Length: {len(JSON)}") + JSON)
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


async def _until_the_end(port: int | None, data: bytes) -> bytes:
    """All that comes back to a client that writes no more after ``data``."""
    async with connection(port) as (reader, writer):
        writer.write(data)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)


async def test_a_client_that_closes_its_writing_side_gets_its_answer(client: Client, triton: FakeTriton) -> None:
    answering = triton.infer

    async def infer(*arguments: Any) -> Arrays:
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
        return await answering(*arguments)

    triton.infer = infer  # type: ignore[method-assign, assignment]
    request = head("POST", EMBED, f"Content-Length: {len(JSON)}") + JSON
    answer = await _until_the_end(client.server.port, request)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"embedding"' in answer


async def test_a_client_that_closes_its_writing_side_gets_all_its_answers(client: Client) -> None:
    request = head("POST", EMBED, f"Content-Length: {len(JSON)}") + JSON
    answers = await _until_the_end(client.server.port, request * 50)
    assert answers.count(b"HTTP/1.1 200 ") == 50


async def test_a_long_request_is_answered_though_its_client_closes_its_writing_side(client: Client) -> None:
    text = b'{"input": "' + b"word " * 100_000 + b'"}'
    answer = await _until_the_end(client.server.port, head("POST", EMBED, f"Content-Length: {len(text)}") + text)
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_of_many_clients_that_close_at_once_few_are_taken_to_wait(client: Client, triton: FakeTriton) -> None:
    going, answering = asyncio.Event(), triton.infer

    async def infer(*arguments: Any) -> Arrays:
        await going.wait()
        return await answering(*arguments)

    triton.infer = infer  # type: ignore[method-assign, assignment]
    request = head("POST", EMBED, f"Content-Length: {len(JSON)}") + JSON
    assert client.server.runner is not None
    server = client.server.runner.server
    assert server is not None
    for _ in range(10):
        async with connection(client.server.port) as (_, writer):
            writer.write(request)
    await until(lambda: len(server.connections) == admission.HALF_CLOSED_AT_ONCE)
    going.set()
    await until(lambda: not server.connections)
    assert (await _until_the_end(client.server.port, request)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("data", [b"", b"GET /v1/mod", head("POST", EMBED, "Content-Length: 100") + JSON])
async def test_a_client_that_closes_before_its_request_is_whole_gets_none(client: Client, data: bytes) -> None:
    assert await _until_the_end(client.server.port, data) == b""


async def test_a_client_that_closes_its_writing_side_later_has_hung_up(client: Client, triton: FakeTriton) -> None:
    called = asyncio.Event()

    async def infer(*arguments: Any) -> Arrays:
        called.set()
        await asyncio.sleep(30)
        return {}

    triton.infer = infer  # type: ignore[method-assign, assignment]
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, f"Content-Length: {len(JSON)}") + JSON)
        await called.wait()
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b""


@pytest.mark.parametrize("data", [head("GET", "/v1/models"), head("GET", "/v1/nothing"), b"nonsense\r\n\r\n"])
async def test_no_answer_names_the_framework(client: Client, data: bytes) -> None:
    assert (await ask(client.server.port, data)).headers["server"] == "quartet"


async def test_a_request_under_way_is_finished_when_the_server_ends(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, infer = asyncio.Event(), triton.infer

    async def slowly(*arguments: Any) -> Any:
        begun.set()
        await asyncio.sleep(1)
        return await infer(*arguments)

    monkeypatch.setattr(triton, "infer", slowly)
    asked = asyncio.create_task(client.post(EMBED, json={"input": "a"}))
    await begun.wait()
    runner = client.server.runner
    assert runner is not None
    ended = asyncio.create_task(runner.cleanup())
    assert (await asked).status == 200
    await ended
