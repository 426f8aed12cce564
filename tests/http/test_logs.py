"""The line of each request, and that no line of the log has a secret of a caller's."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable

import pytest

from frontend.access.jwt import Tokens
from frontend.config.settings import Settings
from frontend.errors import ApiError, BadGateway
from frontend.observe.logs import LINES, quieten_libraries
from tests.charges import ORG_KEY, TEXT, speak
from tests.conftest import JWT_SECRET, KEY, Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, EMBEDDED, SPEAK, logged, status_of
from tests.live import PATH as LIVE
from tests.live import live, pcm
from tests.raw import ask, connection, head
from tests.speech import encode, say, transcribe
from tests.upstream import PATH as CHAT
from tests.upstream import Upstream, chat

_SECRET = "Qx7secretSpoken"
_ADMIN_KEY = "a" * 16 + "Qx7secretAdmin" + "k" * 16
pytestmark = pytest.mark.settings(admin_key=_ADMIN_KEY, extensions="realtime")


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quieten_libraries()


@pytest.mark.usefixtures("books")
async def test_a_request_is_one_line_with_who_asked_for_what(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = lambda: asyncio.sleep(0.05)
    assert (await speak(client, key=ORG_KEY))[0] == 200
    (line,) = logged(caplog)
    seconds, queue, backend = (line.pop(name) for name in ("seconds", "queue_seconds", "backend_seconds"))
    assert 0.05 <= backend <= seconds
    assert 0 <= queue <= seconds - 0.05
    assert line.pop("bytes_out") > 2000
    assert line.pop("bytes_in") == len(f'{{"input": "{TEXT}", "voice": "amy"}}')
    assert line.pop("key") not in ("", None, ORG_KEY)
    assert line == {
        "method": "POST",
        "route": "/v1/audio/speech",
        "status": 200,
        "org": "acme",
        "tier": "free",
        "model": "tts-1",
        "quantity": len(TEXT),
    }


@pytest.mark.parametrize("path", ["/v1/models", "/v1/nothing", "/docs"])
async def test_an_answer_to_head_counts_no_body(client: Client, path: str, caplog: pytest.LogCaptureFixture) -> None:
    await client.head(path, headers={"Authorization": "Bearer wrong"})
    assert [line["bytes_out"] for line in logged(caplog)] == [0]


async def test_a_request_without_a_route_has_no_method_of_its_own_in_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.request("PROPFIND", "/v1/nothing")
    assert [(line["method"], line["route"]) for line in logged(caplog)] == [("other", "other")]


async def test_the_wait_for_a_slot_is_in_queue_seconds(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = lambda: asyncio.sleep(0.02)
    # Sixteen run at once.
    await asyncio.gather(*(client.post(EMBED, json={"input": "a"}) for _ in range(48)))
    assert max(line["queue_seconds"] for line in logged(caplog)) >= 0.02


async def test_a_refusal_and_a_disconnect_are_a_line_too(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    await status_of(client, "/v1/models", "no")
    await client.post(EMBED, json={"input": 1})
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(EMBEDDED)
        await until(lambda: bool(triton.calls))
        await asyncio.sleep(0.3)
    await until(lambda: len(logged(caplog)) == 3)
    lines = [(line["status"], line["tier"]) for line in logged(caplog)]
    assert lines == [(401, "none"), (400, "free"), (499, "free")]


async def _requests_with_secrets(client: Client, keys: Iterable[str], wav: bytes) -> AsyncIterator[object]:
    """Sends every operation with secrets wherever a caller can put one; yields what was sent."""
    for key in keys:
        for path in ("/v1/models", "/api/v1/audio/voices", "/admin/v1/keys"):
            yield await status_of(client, path, key), path, key
    for path, body in (
        (EMBED, {"input": _SECRET}),
        (EMBED, {"input": "a", _SECRET: _SECRET}),
        (EMBED, {"input": "a", "model": _SECRET}),
        ("/v1/rerank", {"query": _SECRET, "documents": [_SECRET] * 2}),
        (SPEAK, {"input": _SECRET, "voice": "amy"}),
        (SPEAK, {"input": "a", "voice": _SECRET}),
    ):
        yield await client.post(path, json=body), body
    yield await client.post(EMBED, data=f'{{"input": "{_SECRET}'.encode()), "half a body"
    for fields in ({"prompt": _SECRET, "language": _SECRET}, {"prompt": _SECRET}):
        yield await transcribe(client, wav, **fields), fields
    yield await transcribe(client, _SECRET.encode()), "a file"
    for path in (f"/{_SECRET}", f"/v1/models/{_SECRET}", f"{EMBED}?key={KEY}", f"/v1/models?{_SECRET}=1"):
        yield await client.get(path), path
        yield await client.post(path, json={}), path
    headers = {"Cookie": _SECRET, "User-Agent": _SECRET, "X-Api-Key": KEY, "Origin": _SECRET, "traceparent": _SECRET}
    yield await client.get("/v1/models", headers=headers), headers
    for path in ("/v1/models", "/nothing", LIVE):
        yield await client.get(path, headers={"X-Request-Id": KEY}), path
    for streams in (False, True):
        yield await (await client.post(CHAT, json=chat(_SECRET, stream=streams))).read(), "chat", streams
    for data in (f"{_SECRET} nonsense\r\n\r\n".encode(), head("BREW" + _SECRET, EMBED), head("GET", EMBED, _SECRET)):
        yield await ask(client.server.port, data), data
    async for sent in _live_sessions_with_secrets(client, keys):
        yield sent
    # The key is revoked, and the frontend may know it at any time.
    for key in (KEY, _SECRET):
        yield await client.delete(f"/admin/v1/keys/{key}", headers=bearer(_ADMIN_KEY)), key
    await asyncio.sleep(0.05)
    yield "the end"


async def _live_sessions_with_secrets(client: Client, keys: Iterable[str]) -> AsyncIterator[object]:
    for key in (KEY, *keys):
        of_key = f"openai-insecure-api-key.{key}"
        for lines in ([of_key], [of_key, "realtime"], ["realtime", of_key], [_SECRET, of_key], [f"realtime, {of_key}"]):
            sent = [f"Sec-WebSocket-Protocol: {line}" for line in lines]
            upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
            for nonce in (_SECRET, "a" * 22 + "=="):
                of_nonce = f"Sec-WebSocket-Key: {nonce}"
                data = "\r\n".join([f"GET {LIVE} HTTP/1.1", "Host: x", *upgrade, of_nonce, *sent, "", ""])
                yield await ask(client.server.port, data.encode()), data
    async with live(client) as session:
        for kind in ("session.update", _SECRET, "input_audio_buffer.append"):
            await session.send(kind, session={_SECRET: _SECRET}, audio=_SECRET, event_id=_SECRET)
            yield await session.until("error"), kind
        await session.configure(transcription={"prompt": _SECRET}, turn_detection=None)
        await session.say(pcm(say("Good morning.")))
        await session.send("input_audio_buffer.commit")
        yield await session.until("conversation.item.done"), "a commit"
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("failure", [None, BadGateway("no")], ids=["answered", "failed"])
async def test_no_line_has_a_key_a_token_text_or_audio(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture, failure: ApiError | None
) -> None:
    token = Tokens(settings.jwt_audience, settings.jwt_issuer, JWT_SECRET).issue(f"{_SECRET}-subject", 600)
    wav, triton.failure, count = encode(say("one two three"), "wav"), failure, 0
    secrets = [KEY, KEY[:-2], JWT_SECRET, _ADMIN_KEY, _SECRET, *token.split("."), wav[1000:1016].hex()]
    async for sent in _requests_with_secrets(client, (token, token[:-2], KEY[:-2], _ADMIN_KEY, _SECRET), wav):
        lines = [LINES[form]().format(record) for record in caplog.records for form in LINES]
        assert [(secret, line) for line in lines for secret in secrets if secret in line] == [], sent
        count += len(lines)
        caplog.clear()
    assert count > 50
