"""Transcripts as server-sent events, window by window."""

import asyncio
import json
import logging
from typing import Any

import aiohttp
import numpy as np
import openai
import pytest

from frontend.config.settings import Settings
from frontend.errors import BadGateway
from tests.charges import charges
from tests.conftest import KEY, Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import APART, logged, refusal
from tests.speech import encode, say, transcribe

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.settings(extensions="transcript_streaming")]

SETTINGS = {"extensions": "transcript_streaming"}
SHORT = encode(say("Good morning everybody, this is a test."), "wav")
# Two windows.
LONG = encode(
    np.concatenate([say("this is a part of what was said about many things " * 6), np.zeros(16_000, np.float32)] * 2),
    "wav",
)
HEARD = {"type": "transcript.text.delta", "delta": "hello there"}


async def _next(response: aiohttp.ClientResponse) -> Any:
    """The next event; None after the last one."""
    line = await response.content.readline()
    assert not line or await response.content.readline() == b"\n"
    return json.loads(line.removeprefix(b"data: ")) if line else None


async def _events(response: aiohttp.ClientResponse) -> list[Any]:
    found = []
    while (event := await _next(response)) is not None:
        found.append(event)
    return found


def _hold_the_second(triton: FakeTriton) -> asyncio.Event:
    """Let every call but the first wait for the event."""
    going = asyncio.Event()

    async def wait() -> None:
        if len(triton.calls) > 1:
            await going.wait()

    triton.wait = wait
    return going


async def test_a_part_is_sent_while_later_windows_are_transcribed(client: Client, triton: FakeTriton) -> None:
    going = _hold_the_second(triton)
    response = await transcribe(client, LONG, stream="true")
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert await _next(response) == HEARD
    going.set()
    assert await _events(response) == [
        {"type": "transcript.text.delta", "delta": " hello there"},
        {"type": "transcript.text.done", "text": "hello there hello there"},
    ]


@pytest.mark.parametrize("fields", [{}, {"response_format": "text"}, {"response_format": "json"}])
async def test_the_parts_make_the_text_of_the_whole_answer(client: Client, fields: dict[str, str]) -> None:
    *parts, done = await _events(await transcribe(client, LONG, stream="true", **fields))
    whole = await (await transcribe(client, LONG)).json()
    assert ("".join(part["delta"] for part in parts), done["text"]) == (whole["text"], whole["text"])


async def test_silence_is_one_event_and_never_reaches_triton(client: Client, triton: FakeTriton) -> None:
    response = await transcribe(client, encode(np.zeros(32_000, np.float32), "wav"), stream="true")
    assert await _events(response) == [{"type": "transcript.text.done", "text": ""}]
    assert triton.calls == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stream": "true", "response_format": "verbose_json"}, "response_format"),
        ({"stream": "yes"}, "stream"),
        ({"stream": ["true", "true"]}, "stream"),
    ],
)
async def test_what_cannot_be_streamed_is_refused(client: Client, fields: dict[str, Any], param: str) -> None:
    assert await refusal(await transcribe(client, SHORT, **fields)) == (400, param)


@pytest.mark.parametrize("value", ["false", "0", ""])
async def test_a_stream_can_be_declined(client: Client, value: str) -> None:
    assert await (await transcribe(client, SHORT, stream=value)).json() == {"text": "hello there"}


async def test_a_failure_before_the_first_part_is_an_error(client: Client, triton: FakeTriton) -> None:
    triton.failure = BadGateway("no")
    assert await refusal(await transcribe(client, LONG, stream="true")) == (502, None)


async def test_the_client_of_openai_reads_the_events(client: Client) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        stream = await caller.audio.transcriptions.create(model="stt-1", file=("a.wav", SHORT), stream=True)
        events = [event async for event in stream]
    assert [event.type for event in events] == ["transcript.text.delta", "transcript.text.done"]
    assert (events[0].delta, events[-1].text) == ("hello there", "hello there")  # type: ignore[union-attr]


@APART
async def test_a_stream_costs_what_the_whole_answer_costs(client: Client, settings: Settings) -> None:
    await _events(await transcribe(client, SHORT, stream="true"))
    await transcribe(client, SHORT)
    streamed, whole = await charges(client, settings)
    assert (streamed["quantity"], streamed["amount"]) == (whole["quantity"], whole["amount"])


@APART
async def test_a_caller_that_disconnects_after_the_first_part_pays(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")
    _hold_the_second(triton)
    response = await transcribe(client, LONG, stream="true")
    await _next(response)
    response.close()
    await until(lambda: logged(caplog))
    assert len(await charges(client, settings)) == 1


@APART
async def test_a_failure_after_the_first_part_breaks_off_and_is_free(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")
    going = _hold_the_second(triton)
    response = await transcribe(client, LONG, stream="true")
    await _next(response)
    triton.failure = BadGateway("no")
    going.set()
    with pytest.raises(aiohttp.ClientError):
        await _events(response)
    await until(lambda: logged(caplog))
    assert [line["status"] for line in logged(caplog)] == [500]
    assert await charges(client, settings) == []
