"""The line of each request, and that no line of the log has a secret of a caller's."""

import asyncio
import dataclasses
import logging
from collections.abc import Iterable
from typing import Any

import pytest

from frontend.access.jwt import Tokens
from frontend.config.settings import Settings
from frontend.errors import BadGateway
from frontend.observe.logs import LINES, quieten_libraries
from tests.charges import ORG_KEY, TEXT, speak
from tests.conftest import JWT_SECRET, KEY, Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import ask, connection, head, post
from tests.speech import encode, say, transcribe

EMBED, TRANSCRIBE = "/v1/embeddings", "/v1/audio/transcriptions"
_SECRET = "Qx7secretSpoken"
_ADMIN_KEY = "a" * 16 + "Qx7secretAdmin" + "k" * 16


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quieten_libraries()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return dataclasses.replace(settings, admin_key=_ADMIN_KEY)


def _requests(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.fields for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("books")
async def test_a_request_is_one_line_with_who_asked_for_what(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = lambda: asyncio.sleep(0.05)
    assert (await speak(client, key=ORG_KEY))[0] == 200
    (line,) = _requests(caplog)
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
    assert [line["bytes_out"] for line in _requests(caplog)] == [0]


async def test_who_waits_for_a_slot_waits_in_the_queue(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = lambda: asyncio.sleep(0.02)
    # Sixteen run at once.
    await asyncio.gather(*(client.post(EMBED, json={"input": "a"}) for _ in range(48)))
    assert max(line["queue_seconds"] for line in _requests(caplog)) >= 0.02


async def test_a_refusal_and_a_hang_up_are_a_line_too(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    await client.get("/v1/models", headers={"Authorization": "Bearer no"})
    await client.post(EMBED, json={"input": 1})
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(post(EMBED, b'{"input": "a"}'))
        await until(lambda: bool(triton.calls))
        await asyncio.sleep(0.3)
    await until(lambda: len(_requests(caplog)) == 3)
    assert [(line["status"], line["tier"]) for line in _requests(caplog)] == [
        (401, "none"),
        (400, "free"),
        (499, "free"),
    ]


async def _ask_with_secrets(client: Client, keys: Iterable[str], wav: bytes) -> None:
    """Every operation, with secrets wherever a caller can put one."""
    for key in keys:
        for path in ("/v1/models", "/api/v1/audio/voices", "/admin/v1/keys"):
            await client.get(path, headers={"Authorization": f"Bearer {key}"})
    for path, body in (
        (EMBED, {"input": _SECRET}),
        (EMBED, {"input": "a", _SECRET: _SECRET}),
        (EMBED, {"input": "a", "model": _SECRET}),
        ("/v1/rerank", {"query": _SECRET, "documents": [_SECRET] * 2}),
        ("/v1/audio/speech", {"input": _SECRET, "voice": "amy"}),
        ("/v1/audio/speech", {"input": "a", "voice": _SECRET}),
    ):
        await client.post(path, json=body)
    await client.post(EMBED, data=f'{{"input": "{_SECRET}'.encode())
    await transcribe(client, wav, prompt=_SECRET, language=_SECRET)
    await transcribe(client, wav, prompt=_SECRET)
    await transcribe(client, _SECRET.encode())
    for path in (f"/{_SECRET}", f"/v1/models/{_SECRET}", f"{EMBED}?key={KEY}", f"/v1/models?{_SECRET}=1"):
        await client.get(path)
        await client.post(path, json={})
    await client.get("/v1/models", headers={"Cookie": _SECRET, "User-Agent": _SECRET, "X-Api-Key": KEY})
    for key in (KEY, _SECRET):
        await client.delete(f"/admin/v1/keys/{key}", headers={"Authorization": f"Bearer {_ADMIN_KEY}"})
    for data in (f"{_SECRET} nonsense\r\n\r\n".encode(), head("BREW" + _SECRET, EMBED), head("GET", EMBED, _SECRET)):
        await ask(client.server.port, data)


async def test_no_line_has_a_key_a_token_text_or_audio(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    token = Tokens(settings.jwt_audience, settings.jwt_issuer, JWT_SECRET).issue(f"{_SECRET}-subject", 600)
    wav = encode(say("one two three"), "wav")
    secrets = [KEY, KEY[:-2], JWT_SECRET, _ADMIN_KEY, _SECRET, *token.split("."), wav[1000:1016].hex()]
    for triton.failure in (None, BadGateway("no")):
        await _ask_with_secrets(client, (token, token[:-2], KEY[:-2], _ADMIN_KEY, _SECRET), wav)
    lines = [LINES[form]().format(record) for record in caplog.records for form in LINES]
    assert len(lines) > 100
    assert [(secret, line) for line in lines for secret in secrets if secret in line] == []
