"""What happens around a request: 100 Continue, deadlines, refusals while the client still sends."""

import asyncio
import dataclasses
import http.client
from collections.abc import AsyncIterator
from functools import partial

import numpy as np
import pytest

from frontend.config.settings import Settings
from tests.conftest import KEY, Client, running
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, runner_of
from tests.raw import answer as read_answer
from tests.raw import ask, connection, head
from tests.speech import TRANSCRIBE, encode, say, transcribe

pytestmark = pytest.mark.settings(header_seconds=0.3, body_seconds=3.0)
FORM = "Content-Type: multipart/form-data; boundary=x"
JSON = b'{"input": "a"}'


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
    ],
    ids=["a wrong key", "a long body", "a long form", "an endless form", "packed"],
)
async def test_a_body_that_would_be_refused_is_not_invited(
    client: Client, path: str, lines: list[str], key: str, status: int
) -> None:
    refusal = await ask(client.server.port, head("POST", path, "Expect: 100-continue", *lines, key=key))
    assert (refusal.status, refusal.continued) == (status, False)


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


async def test_a_request_in_flight_is_answered_when_the_server_ends(client: Client, triton: FakeTriton) -> None:
    triton.wait = partial(asyncio.sleep, 1)
    asked = asyncio.create_task(client.post(EMBED, json={"input": "a"}))
    await until(lambda: bool(triton.calls))
    ended = asyncio.create_task(runner_of(client).cleanup())
    assert (await asked).status == 200
    await ended


_SPEECH = say("Good morning everybody, this is a test.")
# One window of 30 s, and several.
SHORT, LONG = (encode(np.concatenate([_SPEECH] * times), "wav") for times in (2, 64))


@pytest.mark.settings(request_seconds=1.0)
async def test_the_time_that_a_body_takes_to_arrive_does_not_count(client: Client) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for piece in (b'{"input": "hel', b'lo"', b"}"):
            yield piece
            await asyncio.sleep(0.6)

    assert (await client.post("/v1/embeddings", data=slowly())).status == 200


@pytest.mark.parametrize(("for_a_second", "status"), [(0.0, 502), (1.0, 200)])
async def test_a_request_has_more_time_for_more_audio(
    settings: Settings, triton: FakeTriton, for_a_second: float, status: int
) -> None:
    # Even all windows at once take longer than a second, on any machine.
    triton.wait = partial(asyncio.sleep, 3)
    brief = dataclasses.replace(settings, request_seconds=1.0, audio_second_seconds=for_a_second)
    async with running(brief, triton) as client:
        assert (await transcribe(client, LONG)).status == status


@pytest.mark.settings(request_seconds=8.0, audio_second_seconds=0.0, windows_at_once=1)
async def test_work_that_would_end_after_the_deadline_is_refused_before_it_begins(
    client: Client, triton: FakeTriton
) -> None:
    triton.wait = partial(asyncio.sleep, 1.0)
    assert (await transcribe(client, SHORT)).status == 200
    refused = await transcribe(client, LONG)
    assert refused.status == 502
    assert "would take about" in (await refused.json())["error"]["message"]
    assert len(triton.calls) == 1
