"""The extensions of speech: streams, more formats, and speed."""

import asyncio
import base64
import contextlib
import io
import json
import logging
from typing import Any

import aiohttp
import av
import numpy as np
import openai
import pytest

from frontend.app_keys import DISPATCHER, MEMORY_BUDGET
from frontend.catalogue.voices import AUDIO_FORMATS, MORE_AUDIO_FORMATS
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.errors import BadGateway
from tests.charges import ORG_KEY, Books, charges
from tests.conftest import KEY, Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import APART, LONG, SPEAK, logged, refusal, runner_of, speak_long
from tests.raw import connection, post

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "speech_streaming,speech_formats,speech_speed"}
_ON = pytest.mark.settings(**SETTINGS)
_TEXT = "Hello there. How are you? I am well, thanks."
_BODY = {"input": _TEXT, "voice": "ryan", "stream_format": "audio"}
_STREAMED = post(SPEAK, json.dumps(_BODY | {"input": "Hello there. " * 300}).encode())


async def _post(client: Client, **body: Any) -> aiohttp.ClientResponse:
    return await client.post(SPEAK, json={"input": _TEXT, "voice": "ryan", **body})


def _samples(audio: bytes, audio_format: str) -> np.ndarray[Any, Any]:
    if audio_format == "pcm":
        return np.frombuffer(audio, "<i2")
    with av.open(io.BytesIO(audio)) as file:
        return np.concatenate([frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)])


@pytest.mark.parametrize("audio_format", [*AUDIO_FORMATS, *MORE_AUDIO_FORMATS])
async def test_the_pieces_of_a_stream_decode_to_the_same_as_the_whole_file(client: Client, audio_format: str) -> None:
    whole = await _post(client, response_format=audio_format)
    streamed = await _post(client, response_format=audio_format, stream_format="audio")
    assert whole.headers["Content-Type"] == streamed.headers["Content-Type"]
    assert "Content-Length" not in streamed.headers
    expected, found = [_samples(await answer.read(), audio_format) for answer in (whole, streamed)]
    # Only a whole MP3 file tells its decoder how much silence to cut from both ends.
    starts = range(len(found) - len(expected) + 1)
    assert len(starts) < 2048
    assert any(np.array_equal(found[start : start + len(expected)], expected) for start in starts)


@pytest.mark.parametrize(
    ("audio_format", "container", "rate"),
    [("opus", "ogg", 48_000), ("aac", "aac", 22_050), ("flac", "flac", 22_050)],
)
async def test_a_format_of_the_extension_is_what_it_says(
    client: Client, audio_format: str, container: str, rate: int
) -> None:
    answer = await _post(client, response_format=audio_format)
    with av.open(io.BytesIO(await answer.read())) as file:
        codec = file.streams.audio[0].codec_context
        assert (file.format.name, codec.name, codec.sample_rate) == (container, audio_format, rate)


@pytest.mark.parametrize(("audio_format", "streams"), [("pcm", True), ("wav", False)])
async def test_without_stream_format_only_pcm_is_streamed(client: Client, audio_format: str, streams: bool) -> None:
    assert ("Content-Length" not in (await _post(client, response_format=audio_format)).headers) is streams


async def test_pcm_has_24_000_samples_per_second(client: Client) -> None:
    lengths = [len(await (await _post(client, response_format=name)).read()) for name in ("pcm", "wav")]
    assert lengths[0] / (lengths[1] - 44) == pytest.approx(24_000 / 22_050, rel=0.001)


async def test_the_first_sound_arrives_before_the_last_sentence_is_spoken(client: Client, triton: FakeTriton) -> None:
    last = asyncio.Event()

    async def wait() -> None:
        if len(triton.calls) == 3:
            await last.wait()

    triton.wait = wait
    answer = await _post(client, stream_format="audio")
    first = await answer.content.readany()
    assert first.startswith(b"RIFF\xff\xff\xff\xff")
    last.set()
    assert await answer.content.read()


async def test_events_are_those_of_openai(client: Client) -> None:
    async with (
        openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller,
        caller.audio.speech.with_streaming_response.create(
            model="tts-1", voice="ryan", input=_TEXT, response_format="pcm", stream_format="sse"
        ) as streamed,
    ):
        assert streamed.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        events = [json.loads(line.removeprefix("data: ")) async for line in streamed.iter_lines() if line]
    *deltas, done = events
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    audio = b"".join(base64.b64decode(event["audio"]) for event in deltas)
    assert audio == await (await _post(client, response_format="pcm")).read()
    usage = {"input_tokens": len(_TEXT), "output_tokens": 0, "total_tokens": len(_TEXT)}
    assert done == {"type": "speech.audio.done", "usage": usage}


async def test_the_speed_divides_the_length_of_sounds(client: Client, triton: FakeTriton) -> None:
    for speed in (None, 1, 2.0):
        await _post(client, input="Hello.", speed=speed)
    usual, one, double = (inputs["scales"][1] for _, inputs in triton.calls)
    assert (usual, double) == (one, one / 2)


async def test_a_failure_before_the_first_sound_is_an_error(client: Client, triton: FakeTriton) -> None:
    triton.failure = BadGateway("gone")
    assert (await _post(client, stream_format="sse")).status == 502


@pytest.mark.parametrize(("body", "param"), [({"input": "..."}, "input"), ({"stream_format": "mp3"}, "stream_format")])
async def test_a_stream_of_a_bad_request_is_400(client: Client, body: dict[str, str], param: str) -> None:
    assert await refusal(await _post(client, **{"stream_format": "audio", **body})) == (400, param)


async def test_a_failure_after_the_first_sound_aborts_the_connection_and_is_ours(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")

    async def wait() -> None:
        if len(triton.calls) == 3:
            raise BadGateway("gone")

    triton.wait = wait
    answer = await _post(client, stream_format="audio")
    assert answer.status == 200
    with pytest.raises(aiohttp.ClientError):
        await answer.read()
    await until(lambda: logged(caplog))
    assert [line["status"] for line in logged(caplog)] == [502]


@APART
@_ON
@pytest.mark.parametrize("retries", [False, True])
async def test_speech_that_the_server_breaks_off_is_free(
    client: Client, settings: Settings, books: Books, triton: FakeTriton, retries: bool
) -> None:
    await books.top_up("acme", 1_000)
    headers = bearer(ORG_KEY) | {"X-Request-Id": "one"}

    async def wait() -> None:
        if len(triton.calls) == 3:
            raise BadGateway("gone")

    triton.wait = wait
    body = {**_BODY, "input": _TEXT}
    for _ in range(1 + retries):
        answer = await client.post(SPEAK, json=body, headers=headers)
        with contextlib.suppress(aiohttp.ClientError):
            await answer.read()
    rows = await charges(client, settings)
    assert [row["quantity"] for row in rows] == [len(_TEXT)] * retries
    assert await books.balance("acme") == 1_000 - 5 * len(_TEXT) * retries


@APART
@pytest.mark.settings(**SETTINGS, max_speech_seconds=70.0)
async def test_a_text_that_turns_out_too_long_after_the_first_sound_is_paid(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    triton.spoil = lambda arrays: {"output": LONG} if len(triton.calls) > 2 else arrays
    answer = await _post(client, stream_format="audio")
    with pytest.raises(aiohttp.ClientError):
        await answer.read()
    assert [row["quantity"] for row in await charges(client, settings)] == [len(_TEXT)]


async def test_a_reader_who_waits_holds_no_slot_and_little_memory(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    async with connection(client.port) as (reader, writer):
        writer.write(_STREAMED)
        await reader.readexactly(1_000)
        queue = client.app[DISPATCHER].queue("piper_ryan")
        # The first sentence, and five ahead.
        await until(lambda: len(triton.calls) == 6 and not queue.demand)
        await asyncio.sleep(0.1)
        assert (len(triton.calls), queue.demand) == (6, 0)
        assert client.app[MEMORY_BUDGET]._total < 6_000_000


async def test_the_mobile_endpoint_has_no_extensions(client: Client, mobile: dict[str, str]) -> None:
    body = {"text": _TEXT, "voice": "ryan"}
    for extended in ({"format": "opus"}, {"stream_format": "audio"}):
        answer = await client.post("/api/v1/audio/synthesize", json=body | extended, headers=mobile)
        assert await refusal(answer) == (400, *extended)


@APART
@_ON
async def test_a_caller_who_leaves_after_the_first_sound_pays_once(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    speak_long(triton)
    for _ in range(2):
        async with connection(client.port) as (reader, writer):
            writer.write(_STREAMED.replace(b"\r\nHost", b"\r\nX-Request-Id: one\r\nHost", 1))
            await reader.readexactly(1_000)
    (row,) = await charges(client, settings)
    assert row["quantity"] == len("Hello there. " * 300)


@APART
@_ON
async def test_a_caller_who_leaves_before_the_first_sound_pays_nothing(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    triton.wait = asyncio.Event().wait
    server = runner_of(client).server
    assert server is not None
    async with connection(client.port) as (_, writer):
        writer.write(_STREAMED)
        await until(lambda: triton.calls)
    await until(lambda: not server.connections)
    assert await charges(client, settings) == []


async def test_the_deadline_waits_for_the_reader(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended: list[float] = []
    monkeypatch.setattr(RequestContext, "extend", lambda context, seconds: extended.append(seconds))
    speak_long(triton)
    answer = await _post(client, input="Hello.", stream_format="audio")
    await answer.content.readexactly(1_000)
    await asyncio.sleep(0.5)
    await answer.read()
    assert sum(extended) > 0.4


@APART
@pytest.mark.settings(**SETTINGS, write_seconds=1.0, min_answer_rate=10**9)
async def test_a_reader_who_is_too_slow_is_cut_off_and_pays(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    speak_long(triton)
    server = runner_of(client).server
    assert server is not None
    async with connection(client.port) as (reader, writer), asyncio.timeout(10):
        writer.write(_STREAMED)
        await reader.readexactly(1_000)
        # The kernel cuts off only those who read nothing.
        while server.connections:
            await reader.readexactly(50_000)
            await asyncio.sleep(0.1)
    assert len(await charges(client, settings)) == 1


async def test_the_description_has_the_extensions(client: Client) -> None:
    paths = (await (await client.get("/openapi.json")).json())["paths"]
    speech, mobile = (paths[path]["post"] for path in (SPEAK, "/api/v1/audio/synthesize"))
    asked = speech["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert asked["stream_format"]["enum"] == ["audio", "sse"]
    assert asked["response_format"]["enum"] == [*AUDIO_FORMATS, *MORE_AUDIO_FORMATS]
    assert "text/event-stream" in speech["responses"]["200"]["content"]
    assert [*mobile["responses"]["200"]["content"]] == [*AUDIO_FORMATS.values(), "application/octet-stream"]
