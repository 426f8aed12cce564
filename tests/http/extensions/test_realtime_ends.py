"""What live sessions cost, and how they end."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from aiohttp import WSMsgType
from numpy.typing import NDArray

from frontend.access import open_keys
from frontend.access.caller import Caller
from frontend.access.known_keys import KnownKeys
from frontend.administration.registry import Registry
from frontend.app_keys import CHARGES
from frontend.billing.charges import Spool
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.errors import BadGateway, Unauthorized
from frontend.extensions.realtime import session as module
from frontend.extensions.realtime import wire
from frontend.extensions.realtime.transcriber import Transcriber
from tests.charges import ORG_KEY, Books, charges, find_disk_full
from tests.conftest import Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.garbage import uncollected
from tests.http.calls import runner_of
from tests.live import PATH, TRANSCRIBED, Live, live, pcm, refused, silence, spoken
from tests.raw import connection, head
from tests.samples import value
from tests.speech import SAMPLE_RATE, say

pytestmark = pytest.mark.settings(extensions="realtime")

BY_CLIENT: dict[str, Any] = {"turn_detection": None}
# At 6,000 micro-CHF a minute.
TWO_SECONDS = 200
# What is reserved for an item whose end is not known yet.
WINDOW = 3_000


def lasting(seconds: float) -> NDArray[np.float32]:
    """A sentence with silence up to this length."""
    return np.concatenate([say("Good morning."), silence(seconds)])[: int(seconds * SAMPLE_RATE)]


async def test_each_item_is_charged_by_the_millisecond(client: Client, settings: Settings) -> None:
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        seconds = []
        for length in (2.0, 1.25):
            await session.say(pcm(lasting(length)))
            await session.send("input_audio_buffer.commit")
            seconds.append((await session.until(f"{TRANSCRIBED}.completed"))[-1]["usage"]["seconds"])
    rows = await charges(client, settings)
    assert sorted((row["quantity"], row["amount"], row["model"]) for row in rows) == [
        (1250, 125, "stt-1"),
        (2000, TWO_SECONDS, "stt-1"),
    ]
    assert seconds == [2.0, 1.25]


async def test_a_wallet_pays_what_was_heard_and_no_more(client: Client, books: Books) -> None:
    await books.top_up("acme", WINDOW)
    async with live(client, headers=bearer(ORG_KEY)) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(lasting(2.0)))
        await session.send("input_audio_buffer.commit")
        await session.until(f"{TRANSCRIBED}.completed")
    await client.close()
    assert await books.balance("acme") == WINDOW - TWO_SECONDS


async def test_without_money_the_session_ends_with_an_error(client: Client, books: Books) -> None:
    # Less than the first words may cost, which a slow machine sends before the item ends.
    balance = TWO_SECONDS // 10
    await books.top_up("acme", balance)
    async with live(client, headers=bearer(ORG_KEY)) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(lasting(2.0)))
        await session.send("input_audio_buffer.commit")
        (*_, told) = await session.until("error")
        assert told["error"]["type"] == "insufficient_quota"
        assert await session.closed() == 1008
    await client.close()
    assert await books.balance("acme") == balance


async def test_a_balance_that_covers_an_item_is_enough_for_it(client: Client, books: Books) -> None:
    await books.top_up("acme", 460)
    async with live(client, headers=bearer(ORG_KEY)) as session:
        await session.configure(**BY_CLIENT)
        for part in (1.0, 1.0, 1.0, 1.0, 0.6):
            await session.say(pcm(lasting(part)))
            await asyncio.sleep(0.05)
        await session.send("input_audio_buffer.commit")
        assert (await session.until(f"{TRANSCRIBED}.completed"))[-1]["usage"]["seconds"] == 4.6
        # The next one has no money, and ends with the first words that would cost some.
        await session.say(pcm(lasting(2.0)))
        (*_, told) = await session.until("error")
        assert told["error"]["type"] == "insufficient_quota"
    await client.close()
    assert await books.balance("acme") == 0


async def test_an_item_that_outgrows_the_balance_ends_and_its_words_are_charged(
    client: Client, settings: Settings, books: Books
) -> None:
    await books.top_up("acme", 650)
    async with live(client, headers=bearer(ORG_KEY)) as session:
        await session.configure(**BY_CLIENT)
        for _ in range(9):
            await session.say(pcm(lasting(1.0)))
            await asyncio.sleep(0.05)
        (*_, told) = await session.until("error")
        assert told["error"]["type"] == "insufficient_quota"
    (row,) = await charges(client, settings)
    assert 1000 <= row["quantity"] <= 6500
    assert await books.balance("acme") == 650 - row["amount"]


async def read_words(session: Live) -> None:
    """Speak for three seconds, and read the first words."""
    await session.configure(**BY_CLIENT)
    for _ in range(3):
        await session.say(pcm(lasting(1.0)))
        await asyncio.sleep(0.1)
    await session.until(f"{TRANSCRIBED}.delta")


async def test_words_that_were_sent_are_charged_when_the_client_hangs_up(client: Client, settings: Settings) -> None:
    async with live(client) as session:
        await read_words(session)
    (row,) = await charges(client, settings)
    assert 1000 <= row["quantity"] <= 3000


async def test_an_item_that_cannot_be_charged_fails_and_the_session_lives(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live(client) as session:
        with monkeypatch.context() as patched:
            patched.setattr(Spool, "add", find_disk_full)
            await session.say(pcm(spoken()))
            (*_, failed) = await session.until(f"{TRANSCRIBED}.failed")
        assert failed["error"]["type"] == "bad_gateway"
        await client.app[CHARGES]._check()
        await session.say(pcm(spoken()))
        await session.until(f"{TRANSCRIBED}.completed")


async def test_words_that_were_sent_are_free_if_they_cannot_be_charged(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Spool, "add", find_disk_full)
    async with live(client) as session:
        await read_words(session)
    assert await charges(client, settings) == []
    assert "unforeseen" not in caplog.text


async def test_words_that_were_sent_are_charged_even_if_a_later_pass_is_a_loop_of_the_model(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    async with live(client) as session:
        await read_words(session)
        calls, at_once = len(triton.calls), np.zeros((1, 4), np.float32)
        looped = {"word_text": np.array([[b" no"] * 4], np.object_), "word_probability": at_once}
        triton.spoil = lambda arrays: arrays | looped | {"word_start": at_once, "word_end": at_once}
        await session.say(pcm(lasting(1.0)))
        await until(lambda: len(triton.calls) > calls)
        await asyncio.sleep(0.1)
    (row,) = await charges(client, settings)
    assert row["quantity"] >= 1000


async def test_a_client_that_hangs_up_before_it_read_a_word_pays_nothing(
    client: Client, settings: Settings, books: Books, triton: FakeTriton
) -> None:
    await books.top_up("acme", WINDOW)
    answered = asyncio.Event()
    triton.wait = answered.wait
    async with live(client, headers=bearer(ORG_KEY)) as session:
        await session.say(pcm(spoken()))
        await until(lambda: bool(triton.calls))
    answered.set()
    assert await charges(client, settings) == []
    assert await books.balance("acme") == WINDOW


async def test_a_key_that_is_revoked_ends_its_sessions(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def identify(self: KnownKeys, key: str) -> Caller:
        raise Unauthorized("revoked")

    async with live(client) as session:
        await session.until("session.created")
        monkeypatch.setattr(KnownKeys, "identify", identify)
        await session.say(pcm(spoken()))
        (*_, told) = await session.until("error")
        assert told["error"]["type"] == "invalid_api_key"
        assert await session.closed() == 1008


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(None, marks=pytest.mark.settings(live_seconds=1.0), id="too long"),
        pytest.param(None, marks=pytest.mark.settings(live_idle_seconds=1.0), id="idle"),
    ],
    indirect=True,
)
async def test_a_session_that_is_too_long_or_idle_ends(client: Client) -> None:
    async with live(client) as session:
        (*_, told) = await session.until("error")
        assert told["error"]["code"] == "session_expired"
        assert await session.closed() == 1000


async def test_a_client_that_answers_no_ping_is_disconnected(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PING_SECONDS", 0.1)
    async with live(client) as answers, live(client, autoping=False) as ignores:
        reading = asyncio.create_task(answers.closed())
        assert await ignores.closed() == 1006
        await asyncio.sleep(0.3)
        assert not reading.done()
        reading.cancel()


async def test_a_stop_answers_what_was_said_and_closes_the_session(client: Client, triton: FakeTriton) -> None:
    async with live(client) as session, live(client) as idle:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(lasting(2.0)))
        await until(lambda: bool(triton.calls))
        stopped = asyncio.create_task(runner_of(client).cleanup())
        (*_, told) = await session.until(f"{TRANSCRIBED}.completed")
        assert told["transcript"] == "hello there"
        assert (await session.closed(), await idle.closed()) == (1001, 1001)
        await asyncio.wait_for(stopped, 5)


async def test_a_stop_waits_for_no_model_that_hangs(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_LEAVE_SECONDS", 0.1)
    triton.wait = asyncio.Event().wait
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        await session.say(pcm(lasting(2.0)))
        await until(lambda: bool(triton.calls))
        stopped = asyncio.create_task(runner_of(client).cleanup())
        assert await session.closed() == 1001
        await asyncio.wait_for(stopped, 5)
    gc.collect()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_process_that_stops_begins_no_session(client: Client) -> None:
    runner_of(client).state.closing = True
    assert await refused(client) == 502


async def _closes(session: Live) -> tuple[str, int | None]:
    """The type of the error, and the code of the close."""
    (*_, told) = await session.until("error")
    return told["error"]["type"], await session.closed()


@pytest.fixture
def revoked(settings: Settings) -> Callable[[str], Awaitable[None]]:
    async def revoke(key: str) -> None:
        engine = open_engine(settings.database)
        await Registry(engine).revoke(key)
        await engine.dispose()

    return revoke


async def test_a_silent_session_of_a_revoked_key_ends_within_seconds(
    client: Client, books: Books, revoked: Callable[[str], Awaitable[None]]
) -> None:
    async with live(client, headers=bearer(ORG_KEY)) as ends, live(client) as stays:
        await ends.until("session.created")
        sending = asyncio.create_task(ends.say(pcm(silence(60.0))))
        await asyncio.sleep(0.2)
        await revoked(ORG_KEY)
        async with asyncio.timeout(5):
            assert await _closes(ends) == ("invalid_api_key", 1008)
        sending.cancel()
        await stays.send("input_audio_buffer.clear")
        await stays.until("input_audio_buffer.cleared")


async def test_a_session_outlives_an_outage_of_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def identify(self: KnownKeys, key: str) -> Caller:
        asked.set()
        raise BadGateway("away")

    monkeypatch.setattr(open_keys, "_LOOK_SECONDS", 0.05)
    async with live(client) as session:
        await session.until("session.created")
        monkeypatch.setattr(KnownKeys, "identify", identify)
        for _ in range(2):
            asked.clear()
            await asyncio.wait_for(asked.wait(), 5)
        await session.send("input_audio_buffer.clear")
        await session.until("input_audio_buffer.cleared")


@pytest.mark.settings(live_sessions=2)
async def test_the_places_of_clients_that_vanish_are_free_at_once(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Transcriber.close

    async def close(self: Transcriber) -> None:
        # A model may be unable to stop a call that it has.
        await asyncio.sleep(5)
        await ended(self)

    monkeypatch.setattr(Transcriber, "close", close)
    for _ in range(3):
        async with live(client) as first, live(client) as second:
            for each in (first, second):
                await each.until("session.created")
                each.wire.abort()
        await asyncio.sleep(0.2)
    assert await refused(client) == 101


async def test_audio_is_listened_to_little_faster_than_it_is_spoken(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_AUDIO_AHEAD", 1.0)
    async with live(client) as session:
        await session.configure(**BY_CLIENT)
        began = time.monotonic()
        # In one message, during which pings are answered.
        await session.say(pcm(silence(4.0)), 10**6)
        await session.socket.ping(b"still there?")
        await session.send("input_audio_buffer.clear")
        await session.until("input_audio_buffer.cleared")
        assert (4.0 - 1.0) / wire._AUDIO_A_SECOND - 0.2 < time.monotonic() - began < 6
        # It may be ahead again after a pause.
        await asyncio.sleep(1.0)
        began = time.monotonic()
        await session.say(pcm(silence(1.0)))
        await session.send("input_audio_buffer.clear")
        await session.until("input_audio_buffer.cleared")
        assert time.monotonic() - began < 0.75 * 1.0 / wire._AUDIO_A_SECOND


async def test_a_ping_is_answered_while_a_recording_is_listened_to(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_AUDIO_AHEAD", 0.1)
    async with live(client, autoping=False) as session:
        await session.until("session.created")
        await session.say(pcm(silence(20.0)), 10**6)
        # As clients of whole recordings do, and then wait.
        for _ in range(3):
            await session.send("input_audio_buffer.commit")
        await session.socket.ping(b"still there?")
        async with asyncio.timeout(3):
            while (message := await session.socket.receive()).type is not WSMsgType.PONG:
                assert message.type is WSMsgType.TEXT
    # A client that closes meanwhile is gone.
    await until(lambda: not value("quartet_live_sessions", tier="free"))


async def test_a_session_that_is_dropped_leaves_nothing_to_garbage_collection(client: Client) -> None:
    async def drop() -> None:
        async with live(client) as session:
            await session.say(pcm(silence(0.3)))
            session.wire.abort()
        await asyncio.sleep(0.3)

    await drop()
    found: list[object] = []
    with uncollected(found):
        for _ in range(3):
            await drop()
    assert found == []


async def test_a_frame_without_a_mask_ends_the_session(client: Client) -> None:
    async with live(client) as session:
        await session.until("session.created")
        session.wire.write(b"\x81\x02{}")
        assert await session.closed() == 1002


async def test_parts_of_a_message_that_never_ends_wait(client: Client) -> None:
    async with live(client) as session:
        await session.until("session.created")
        began = time.monotonic()
        session.wire.write(b"\x01\x80mask" + b"\x00\x80mask" * 1500 + b"\x80\x80mask")
        await session.until("error")
        assert time.monotonic() - began > 1
        # The session lives, and what comes slowly does not wait.
        await session.send("input_audio_buffer.clear")
        await session.until("input_audio_buffer.cleared")


@pytest.mark.settings(held_bytes=5 * 1024 * 1024)
async def test_a_message_counts_while_it_arrives(client: Client) -> None:
    held, part = value("quartet_held_bytes"), b"\x00\xff" + (1024 * 1024).to_bytes(8) + bytes(4) + b" " * 1024 * 1024
    async with live(client) as first, live(client) as second:
        for each in (first, second):
            await each.until("session.created")
        first.wire.write(b"\x01\x80mask" + part)
        await until(lambda: value("quartet_held_bytes") > held + 1_200_000)
        # Together they are over the half that a key gets, although no message is complete.
        second.wire.write(b"\x01\x80mask" + part + part)
        assert (await second.until("error"))[-1]["error"]["type"] == "bad_gateway"
        assert await second.closed() == 1008
        first.wire.write(b"\x80\x80mask")
        await first.until("error")
        await until(lambda: value("quartet_held_bytes") < held + 400_000)


async def test_a_message_that_waits_for_its_turn_counts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_AUDIO_AHEAD", 0.1)
    held = value("quartet_held_bytes")
    async with live(client) as session:
        await session.until("session.created")
        await session.say(pcm(silence(10.0)), 10**6)
        await session.say(pcm(silence(20.0)), 10**6)
        await until(lambda: value("quartet_held_bytes") > held + 1_280_000)


async def _send_on(writer: asyncio.StreamWriter, data: bytes) -> None:
    """The same again and again, until the connection is gone."""
    while True:
        writer.write(data)
        await writer.drain()


@pytest.mark.settings(write_seconds=1.0)
async def test_a_client_that_reads_no_events_is_cut_off(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_MESSAGES_A_SECOND", 1_000_000)
    event = b'{"type": "input_audio_buffer.clear"}' + b" " * 1_100
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    async with connection(client.server.port) as (_, writer):
        writer.write(head("GET", PATH, *upgrade, f"Sec-WebSocket-Key: {'A' * 22}=="))
        await until(lambda: value("quartet_live_sessions", tier="free") == 1)
        with pytest.raises(ConnectionError):
            await _send_on(writer, (b"\x81\xfe" + len(event).to_bytes(2) + bytes(4) + event) * 20)
    await until(lambda: not value("quartet_live_sessions", tier="free"))
