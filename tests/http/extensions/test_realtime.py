"""Live speech over a WebSocket, in OpenAI's events."""

import asyncio
import base64
import fcntl
import json
import struct
import termios
from typing import Any

import av
import numpy as np
import pytest
import soxr
from aiohttp import web
from openai.types.realtime.realtime_server_event import RealtimeServerEvent
from pydantic import TypeAdapter

from frontend.concurrency.turnstile import Turnstile
from frontend.errors import BadGateway
from frontend.extensions.realtime import wire
from frontend.http import connection as connections
from frontend.operations.transcription.pipeline import TranscriptionPipeline
from frontend.tritons.triton import Arrays
from tests.conftest import KEY, Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import APART, runner_of
from tests.live import PATH, TRANSCRIBED, live, pcm, refused, silence, spoken
from tests.raw import ask
from tests.samples import Change, value
from tests.speech import say

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "realtime", "live_sessions": 3}
BY_CLIENT: dict[str, Any] = {"turn_detection": None}


async def test_speech_and_a_pause_become_a_transcript(client: Client) -> None:
    async with live(client) as session:
        await session.say(pcm(spoken()))
        told = await session.until(f"{TRANSCRIBED}.completed")
    kinds = [each["type"] for each in told if each["type"] != f"{TRANSCRIBED}.delta"]
    assert kinds == [
        "session.created",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        f"{TRANSCRIBED}.completed",
    ]
    assert "".join(each.get("delta", "") for each in told) == told[-1]["transcript"] == "hello there"
    assert len({each["item_id"] for each in told if "item_id" in each}) == 1


async def test_events_have_the_types_of_openais_client(client: Client) -> None:
    async with live(client) as session:
        await session.say(pcm(spoken()))
        told = await session.until(f"{TRANSCRIBED}.completed")
        await session.send("input_audio_buffer.clear")
        told += await session.until("input_audio_buffer.cleared")
        await session.send("response.create")
        told += await session.until("error")
    for each in told:
        TypeAdapter(RealtimeServerEvent).validate_python(each)


@pytest.mark.parametrize("audio_format", ["audio/pcm", "audio/pcmu", "audio/pcma"])
async def test_a_client_may_commit_by_itself(client: Client, audio_format: str) -> None:
    sound = pcm(say("Good morning."), 24_000 if audio_format == "audio/pcm" else 8_000)
    sound = sound if audio_format == "audio/pcm" else _companded(sound, audio_format)
    async with live(client) as session:
        await session.configure(format={"type": audio_format}, **BY_CLIENT)
        await session.say(sound)
        await session.send("input_audio_buffer.commit")
        told = await session.until(f"{TRANSCRIBED}.completed")
    assert told[-1]["transcript"] == "hello there"
    assert "input_audio_buffer.speech_started" not in [each["type"] for each in told]


def _companded(sound: bytes, audio_format: str) -> bytes:
    codec: Any = av.CodecContext.create("pcm_mulaw" if audio_format == "audio/pcmu" else "pcm_alaw", "w")
    codec.sample_rate, codec.layout, codec.format = 8_000, "mono", "s16"
    frame = av.AudioFrame.from_ndarray(np.frombuffer(sound, np.int16)[None], format="s16", layout="mono")
    frame.sample_rate = 8_000
    return b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])


async def test_language_and_prompt_reach_the_model(client: Client, triton: FakeTriton) -> None:
    async with live(client, f"{PATH}&model=stt-1-hd") as session:
        await session.configure(transcription={"language": "de", "prompt": "Quartett"}, **BY_CLIENT)
        await session.say(pcm(say("Good morning.")))
        await session.send("input_audio_buffer.commit")
        await session.until(f"{TRANSCRIBED}.completed")
    model, inputs = triton.calls[-1]
    assert (model, inputs["language"].item(), inputs["prompt"].item()) == ("whisper_large_v3", b"de", b"Quartett")


async def test_an_item_is_heard_together_with_the_one_before(client: Client, triton: FakeTriton) -> None:
    sound = say("Good morning everybody.")
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        for _ in range(2):
            await session.say(pcm(sound))
            await session.send("input_audio_buffer.commit")
            await session.until(f"{TRANSCRIBED}.completed")
    assert max(call[1]["audio"].size for call in triton.calls) == pytest.approx(2 * len(sound), rel=0.01)


async def test_silence_is_empty_and_does_not_reach_the_model(client: Client, triton: FakeTriton) -> None:
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(silence(1.0)))
        await session.send("input_audio_buffer.commit")
        told = await session.until(f"{TRANSCRIBED}.completed")
    assert (told[-1]["transcript"], told[-1]["usage"]["seconds"], triton.calls) == ("", 0, [])


async def test_an_item_without_a_word_is_free(client: Client, triton: FakeTriton) -> None:
    triton.spoil = lambda arrays: {
        name: array[:, :0] if name.startswith("word") else array for name, array in arrays.items()
    }
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(say("one two three")))
        await session.send("input_audio_buffer.commit")
        told = await session.until(f"{TRANSCRIBED}.completed")
    assert (told[-1]["transcript"], told[-1]["usage"]["seconds"]) == ("", 0)


async def test_a_long_item_ends_in_a_short_pause_before_the_models_window_does(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_AUDIO_AHEAD", 60.0)
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(say("Good morning everybody, here we are. " * 16)), 96_000)
        told = await session.until("input_audio_buffer.committed")
        await session.until(f"{TRANSCRIBED}.completed")
    assert told[-1]["type"] == "input_audio_buffer.committed"
    longest = max(inputs["audio"].size for _, inputs in triton.calls)
    # The last pass does not hear the pause again.
    assert 19 * 16_000 <= longest <= 30 * 16_000


async def test_what_comes_after_an_item_does_not_cancel_its_last_pass(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, transcribe = asyncio.Event(), TranscriptionPipeline.transcribe_window

    async def wait(self: TranscriptionPipeline, *call: Any) -> Arrays:
        await turn.wait()
        return await transcribe(self, *call)

    monkeypatch.setattr(TranscriptionPipeline, "transcribe_window", wait)
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        for end in ("commit", "commit", "clear"):
            await session.say(pcm(say("Good morning.")))
            await session.send(f"input_audio_buffer.{end}")
        await session.until("input_audio_buffer.cleared")
        turn.set()
        texts = [(await session.until(f"{TRANSCRIBED}.completed"))[-1]["transcript"] for _ in range(2)]
    assert texts == ["hello there", "hello there"]


async def test_a_model_that_fails_loses_only_the_item(client: Client, triton: FakeTriton) -> None:
    async with live(client) as session:
        triton.failure = BadGateway("away")
        await session.say(pcm(spoken()))
        (*_, failed) = await session.until(f"{TRANSCRIBED}.failed")
        assert failed["error"]["type"] == "bad_gateway"
        triton.failure = None
        await session.say(pcm(spoken()))
        await session.until(f"{TRANSCRIBED}.completed")


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        ('{"type": "input_audio_buffer.append", "event_id": "mine", "audio": "!"}', "invalid_audio", "audio"),
        ('{"type": "input_audio_buffer.commit", "event_id": "mine"}', "input_audio_buffer_commit_empty", None),
        ('{"type": "response.create", "event_id": "mine"}', "invalid_event", "type"),
        ("no JSON", "invalid_json", None),
    ],
)
async def test_a_faulty_event_is_an_error_and_the_session_lives(
    client: Client, message: str, code: str, param: str | None
) -> None:
    async with live(client) as session:
        await session.socket.send_str(message)
        (*_, told) = await session.until("error")
        assert (told["error"]["code"], told["error"]["param"]) == (code, param)
        assert told["error"]["event_id"] == (None if code == "invalid_json" else "mine")
        await session.configure(**BY_CLIENT)


async def test_too_many_faulty_events_end_the_session(client: Client) -> None:
    async with live(client) as session:
        for _ in range(200):
            await session.socket.send_str("no JSON")
        assert await session.closed() == 1008


async def test_a_message_that_is_too_large_ends_the_session(client: Client) -> None:
    async with live(client) as session:
        await session.socket.send_str("a" * 16_000_000)
        assert await session.closed() == 1009


async def test_a_recording_may_come_in_one_message(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_AUDIO_AHEAD", 60.0)
    sound = np.concatenate([say("one two three"), silence(0.5)] * 20)
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        await session.send("input_audio_buffer.append", audio=base64.encodebytes(pcm(sound)).decode())
        await session.send("input_audio_buffer.commit")
        told = await session.until("input_audio_buffer.committed")
        while "transcript" not in told[-1]:
            told += await session.until(f"{TRANSCRIBED}.completed")
    assert told[-1]["transcript"] == "hello there"


async def test_a_commit_in_silence_ends_an_item_without_words(client: Client, triton: FakeTriton) -> None:
    async with live(client) as session:
        await session.say(pcm(silence(1.0)))
        await session.send("input_audio_buffer.commit")
        told = await session.until(f"{TRANSCRIBED}.completed")
    assert (told[-1]["transcript"], told[-1]["usage"]["seconds"], triton.calls) == ("", 0, [])


async def test_a_commit_without_audio_is_an_error(client: Client) -> None:
    async with live(client) as session:
        await session.send("input_audio_buffer.commit")
        assert (await session.until("error"))[-1]["error"]["code"] == "input_audio_buffer_commit_empty"


@pytest.mark.parametrize("rate", [8_000, 16_000, 48_000])
async def test_pcm_has_the_rate_that_the_client_says(client: Client, triton: FakeTriton, rate: int) -> None:
    sound = say("one two three")
    async with live(client) as session:
        await session.configure(**BY_CLIENT, format={"type": "audio/pcm", "rate": rate})
        await session.say((soxr.resample(sound, 16_000, rate) * 32767).astype("<i2").tobytes())
        await session.send("input_audio_buffer.commit")
        await session.until(f"{TRANSCRIBED}.completed")
    assert triton.calls[-1][1]["audio"].size == pytest.approx(len(sound), rel=0.02)


async def test_a_wrong_key_is_refused_before_the_upgrade(client: Client) -> None:
    assert await refused(client, headers={"Authorization": "Bearer wrong"}) == 401


async def test_a_browser_sends_its_key_as_a_protocol(client: Client) -> None:
    client.session.headers.pop("Authorization")
    try:
        offered = ["realtime", f"openai-insecure-api-key.{KEY}"]
        async with live(client, headers={}, protocols=offered) as session:
            assert session.socket.protocol == "realtime"
            await session.until("session.created")
        assert await refused(client, headers={}, protocols=["realtime", "openai-insecure-api-key.wrong"]) == 401
    finally:
        client.session.headers["Authorization"] = f"Bearer {KEY}"


@pytest.mark.parametrize("first", ["realtime", f"openai-insecure-api-key.{KEY}", "another"])
async def test_the_protocols_may_have_several_lines(client: Client, first: str) -> None:
    lines = [first, "realtime", "another", f"openai-insecure-api-key.{KEY}"]
    lines = [first, *(line for line in lines if line != first)]
    upgrade = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {'a' * 22}==",
    ]
    head = [f"GET {PATH} HTTP/1.1", "Host: x", *upgrade, *(f"Sec-WebSocket-Protocol: {line}" for line in lines), "", ""]
    answer = await ask(client.server.port, "\r\n".join(head).encode())
    assert (answer.status, answer.headers["sec-websocket-protocol"]) == (101, "realtime")


async def test_a_request_without_an_upgrade_is_refused(client: Client) -> None:
    assert (await client.get(PATH)).status == 400


async def test_an_unknown_model_is_refused(client: Client) -> None:
    assert await refused(client, f"{PATH}&model=other") == 400


async def test_a_key_has_a_limit_of_sessions_at_once(client: Client) -> None:
    async with live(client), live(client), live(client):
        assert await refused(client) == 429
    async with live(client) as session:
        await session.until("session.created")


async def test_the_length_of_a_session_is_no_time_of_an_answer(client: Client) -> None:
    sessions, times = Change("quartet_requests_total", status="101"), Change("quartet_request_seconds_count")
    async with live(client) as session:
        await session.until("session.created")
    await until(lambda: sessions.by == 1)
    assert times.by == 0


async def test_a_client_that_hangs_up_cancels_its_work(client: Client, triton: FakeTriton) -> None:
    answered = asyncio.Event()
    triton.wait = answered.wait
    async with live(client) as session:
        await session.say(pcm(spoken()))
        await until(lambda: bool(triton.calls))
        assert value("quartet_live_sessions", tier="free") == 1
    await until(lambda: not value("quartet_live_sessions", tier="free"))
    answered.set()
    await asyncio.sleep(0.05)
    assert len(triton.calls) == 1


def _unread(server: web.Server) -> int:
    """Bytes that the kernel keeps because no connection reads them."""
    sockets = [each.transport.get_extra_info("socket") for each in server.connections if each.transport is not None]
    unread = [fcntl.ioctl(each.fileno(), termios.FIONREAD, bytes(4)) for each in sockets]
    return sum(struct.unpack("i", count)[0] for count in unread)


async def test_events_wait_unread_until_their_session_takes_them(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, going = runner_of(client).server, asyncio.Event()
    assert server is not None
    monkeypatch.setattr(Turnstile, "turn", lambda turnstile: going.wait())
    async with live(client) as session:
        # More than aiohttp keeps.
        for _ in range(100):
            await session.socket.send_str(json.dumps({"type": "input_audio_buffer.clear"}) + " " * 10_000)
        await asyncio.sleep(0.1)
        unread = _unread(server)
        going.set()
        for _ in range(100):
            await session.until("input_audio_buffer.cleared")
    assert unread > 10_000


async def test_little_that_nobody_takes_is_in_the_kernel(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    server, going = runner_of(client).server, asyncio.Event()
    assert server is not None
    going.set()
    monkeypatch.setattr(Turnstile, "turn", lambda turnstile: going.wait())
    async with live(client) as session:
        await session.until("session.created")
        # The kernel gives more room to a connection that was read fast.
        for _ in range(2):
            await session.socket.send_str(json.dumps({"type": "input_audio_buffer.clear"}) + " " * 4_000_000)
            await session.until("input_audio_buffer.cleared")
        going.clear()
        # One that waits for its turn, one that aiohttp keeps, and one more.
        for _ in range(3):
            session.wire.write(b"\x81\xff" + (4 * 10**6).to_bytes(8) + bytes(4) + b" " * 4 * 10**6)
        await asyncio.sleep(0.5)
        unread = _unread(server)
        going.set()
    assert 0 < unread <= 2 * connections._UNREAD_REQUEST_BYTES


@APART
@pytest.mark.contract_only
async def test_without_the_extension_there_is_no_such_path(client: Client) -> None:
    assert (await client.get(PATH)).status == 404
