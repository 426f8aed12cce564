import asyncio
import dataclasses
import socket
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientError, FormData, web
from aiohttp.test_utils import TestClient
from sqlalchemy import select

from frontend.access import api_key
from frontend.access.registry import Registry
from frontend.app import create_app
from frontend.app_keys import RECORDER
from frontend.catalogue.models import PRICES
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from frontend.errors import BadGateway
from frontend.http import connection as connections
from frontend.middleware import billing
from frontend.usage.books import Books
from frontend.usage.spool import Spool
from tests.conftest import KEY, Client, ProductServer
from tests.fakes import FakeTriton, add_key
from tests.raw import connection, head
from tests.speech import encode, say

ORG_KEY = api_key.new_key()
_TEXT = "Hello there."
_REQUESTS: dict[str, tuple[str, dict[str, str]]] = {
    "tts-1": ("/v1/audio/speech", {"input": _TEXT, "voice": "amy"}),
    # Free, but counted.
    "embed-m3": ("/v1/embeddings", {"input": _TEXT}),
}


@pytest.fixture
async def books(settings: Settings) -> AsyncIterator[Books]:
    """The ledger beside the application, with a key of an organisation."""
    engine = open_engine(settings.database)
    await Registry(engine).create_org("acme", None)
    await add_key(Registry(engine), ORG_KEY, org="acme")
    yield Books(engine)
    await engine.dispose()


async def _rows(client: Client, settings: Settings) -> list[dict[str, Any]]:
    """Every charge, after the application has ended."""
    await client.close()
    engine = open_engine(settings.database)
    async with engine.connect() as connection:
        rows = [dict(row._mapping) for row in await connection.execute(select(USAGE_EVENTS))]
    await engine.dispose()
    return rows


async def _speak(client: Client, text: str = _TEXT, *, key: str = KEY, **headers: str) -> tuple[int, Any]:
    """The status and, where it is no audio, the error."""
    headers["Authorization"] = f"Bearer {key}"
    async with client.post("/v1/audio/speech", json={"input": text, "voice": "amy"}, headers=headers) as response:
        return response.status, (await response.read() if response.status == 200 else (await response.json())["error"])


async def test_speech_costs_by_code_point(client: Client, settings: Settings) -> None:
    await _speak(client, "H\u00e9llo there \U0001f600.")
    (row,) = await _rows(client, settings)
    assert (row["operation"], row["model"], row["quantity"], row["amount"]) == ("speech", "tts-1", 14, 70)


async def test_the_request_id_is_in_the_row(client: Client, settings: Settings) -> None:
    await _speak(client, **{"X-Request-Id": "order-66"})
    (row,) = await _rows(client, settings)
    assert row["request_id"] == "order-66"


async def test_transcription_costs_by_decoded_second(client: Client, settings: Settings) -> None:
    form = FormData()
    wav = encode(say("one two three"), "wav")
    form.add_field("file", wav, filename="a.wav")
    form.add_field("response_format", "verbose_json")
    answer = await (await client.post("/v1/audio/transcriptions", data=form)).json()
    (row,) = await _rows(client, settings)
    milliseconds = round(answer["duration"] * 1000)
    assert (row["quantity"], row["amount"]) == (milliseconds, (milliseconds * 100 + 500) // 1000)


async def test_silence_is_free_and_not_recorded(client: Client, settings: Settings) -> None:
    form = FormData()
    form.add_field("file", encode(0 * say("one two three"), "wav"), filename="a.wav")
    assert (await client.post("/v1/audio/transcriptions", data=form)).status == 200
    assert await _rows(client, settings) == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": ["one", "two three"]}),
        ("/v1/rerank", {"query": "one", "documents": ["two", "three"]}),
    ],
)
async def test_text_models_count_the_tokens_they_tell(
    client: Client, settings: Settings, path: str, body: dict[str, Any]
) -> None:
    answer = await (await client.post(path, json=body)).json()
    (row,) = await _rows(client, settings)
    assert (row["quantity"], row["amount"]) == (answer["usage"]["total_tokens"], 0)


@pytest.mark.parametrize("text", ["", "   ", "x" * 5001])
async def test_a_refused_request_costs_nothing(client: Client, settings: Settings, text: str) -> None:
    assert (await _speak(client, text))[0] != 200
    assert await _rows(client, settings) == []


async def test_a_failed_one_costs_nothing(client: Client, settings: Settings, triton: FakeTriton) -> None:
    triton.failure = BadGateway("no")
    assert (await _speak(client))[0] == 502
    assert await _rows(client, settings) == []


async def test_a_request_that_is_repeated_is_charged_once(client: Client, settings: Settings) -> None:
    for _ in range(3):
        await _speak(client, **{"X-Request-Id": "order-66"})
    assert len(await _rows(client, settings)) == 1


async def test_a_charge_pays_for_three_answers_to_its_request(client: Client, settings: Settings) -> None:
    for _ in range(10):
        await _speak(client, **{"X-Request-Id": "order-66"})
    rows = await _rows(client, settings)
    assert sorted(row["answers"] for row in rows) == [1, 3, 3, 3]
    assert sum(row["amount"] for row in rows) == 4 * 5 * len(_TEXT)


async def test_a_wallet_pays_for_what_a_charge_does_not(client: Client, books: Books) -> None:
    await books.top_up("acme", 1_000, None)
    for _ in range(5):
        await _speak(client, key=ORG_KEY, **{"X-Request-Id": "order-66"})
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * 5 * len(_TEXT)


async def test_the_same_id_for_another_request_is_charged(client: Client, settings: Settings) -> None:
    for text in ("One.", "Two."):
        await _speak(client, text, **{"X-Request-Id": "order-66"})
    assert len(await _rows(client, settings)) == 2


async def test_a_form_that_is_sent_again_with_another_boundary_is_the_same_request(
    client: Client, settings: Settings
) -> None:
    wav = encode(say("one two three"), "wav")
    for _ in range(2):
        form = FormData()
        form.add_field("file", wav, filename="a.wav")
        headers = {"X-Request-Id": "order-66"}
        assert (await client.post("/v1/audio/transcriptions", data=form, headers=headers)).status == 200
    assert len(await _rows(client, settings)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"prompt": "a\nlanguage\nen"}, {"prompt": "a", "language": "en"}),
        ({"prompt": "en"}, {"language": "en"}),
        ({"prompt": ""}, {}),
    ],
)
async def test_forms_that_differ_anywhere_are_two_requests(
    client: Client, settings: Settings, one: dict[str, str], other: dict[str, str]
) -> None:
    wav = encode(say("one two three"), "wav")
    for fields in (one, other):
        form = FormData(fields)
        form.add_field("file", wav, filename="a.wav")
        headers = {"X-Request-Id": "order-66"}
        assert (await client.post("/v1/audio/transcriptions", data=form, headers=headers)).status == 200
    assert len(await _rows(client, settings)) == 2


async def test_a_wallet_pays_to_the_micro_chf(client: Client, books: Books) -> None:
    await books.top_up("acme", 1_000, None)
    for _ in range(3):
        assert (await _speak(client, key=ORG_KEY))[0] == 200
    await client.close()
    assert await books.balance("acme") == 1_000 - 3 * 5 * len(_TEXT)


async def test_a_spent_wallet_is_429_in_the_contracts_words(client: Client, books: Books) -> None:
    await books.top_up("acme", 5 * len(_TEXT), None)
    assert (await _speak(client, key=ORG_KEY))[0] == 200
    status, error = await _speak(client, key=ORG_KEY)
    assert (status, error["type"], error["code"]) == (429, "insufficient_quota", "insufficient_quota")
    assert error["message"] == "the balance does not cover this request"


async def test_a_spent_wallet_keeps_the_model_idle(client: Client, books: Books, triton: FakeTriton) -> None:
    await books.top_up("acme", 1, None)
    await _speak(client, key=ORG_KEY)
    assert triton.calls == []


async def test_a_wallet_is_never_overdrawn_by_callers_at_once(client: Client, books: Books) -> None:
    await books.top_up("acme", 16 * 5 * len(_TEXT) + 4, None)
    answers = await asyncio.gather(*(_speak(client, key=ORG_KEY) for _ in range(60)))
    await client.close()
    assert (sum(status == 200 for status, _ in answers), await books.balance("acme")) == (16, 4)


async def test_what_failed_is_free_for_others(client: Client, books: Books, triton: FakeTriton) -> None:
    await books.top_up("acme", 5 * len(_TEXT), None)
    triton.failure = BadGateway("no")
    assert (await _speak(client, key=ORG_KEY))[0] == 502
    triton.failure = None
    assert (await _speak(client, key=ORG_KEY))[0] == 200


async def test_an_organisation_without_a_wallet_is_only_recorded(
    client: Client, settings: Settings, books: Books
) -> None:
    await _speak(client, key=ORG_KEY)
    (row,) = await _rows(client, settings)
    assert (row["org"], row["prepaid"], await books.balance("acme")) == ("acme", False, None)


async def test_a_caller_who_hangs_up_before_the_answer_is_not_charged(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This one is quick: it is not to be taken for a caller who only writes no more.
    monkeypatch.setattr(connections, "_HALF_CLOSE_SECONDS", 0.0)
    body = b'{"input": "Hello there.", "voice": "amy"}'
    head = f"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}"
    answering = asyncio.Event()
    triton.spoil = lambda arrays: answering.set() or arrays  # type: ignore[func-returns-value]
    with socket.create_connection(("127.0.0.1", client.port or 0)) as caller:
        caller.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(caller, f"{head}\r\n\r\n".encode() + body)
        await answering.wait()
    assert await _rows(client, settings) == []


@asynccontextmanager
async def _half_read(client: Client, triton: FakeTriton) -> AsyncIterator[None]:
    """An answer of minutes, of which a caller has read some and goes on reading nothing."""
    triton.spoil = lambda arrays: {"output": np.ones((1, 1, 1, 22_050 * 420), np.float32)}
    body = b'{"input": "Hello there.", "voice": "amy"}'
    async with connection(client.port) as (reader, writer):
        writer.write(head("POST", "/v1/audio/speech", f"Content-Length: {len(body)}") + body)
        await reader.readexactly(1_000)
        yield


async def test_a_caller_who_hangs_up_in_the_middle_of_an_answer_pays(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    async with _half_read(client, triton):
        pass
    (row,) = await _rows(client, settings)
    assert row["amount"] == 5 * len(_TEXT)


async def test_an_answer_that_we_break_off_is_free(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.server.runner, "_shutdown_timeout", 0.1)
    async with _half_read(client, triton):
        assert await _rows(client, settings) == []


async def test_an_answer_with_a_price_that_nobody_charges_for_is_a_fault_of_ours(
    client: Client, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stream(request: web.Request, made: web.Response, *others: Any) -> web.StreamResponse:
        return web.StreamResponse()

    monkeypatch.setattr(billing, "deliver", stream)
    assert (await _speak(client))[0] == 500


async def test_an_answer_that_cannot_be_charged_breaks_off(
    client: Client, books: Books, monkeypatch: pytest.MonkeyPatch, triton: FakeTriton
) -> None:
    await books.top_up("acme", 5 * len(_TEXT), None)

    def full(*arguments: Any) -> bool:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Spool, "add", full)
        with pytest.raises(ClientError):
            await _speak(client, key=ORG_KEY)
    assert (await _speak(client, key=ORG_KEY))[0] == 200


@pytest.mark.parametrize("model", ["tts-1", "embed-m3"])
async def test_work_whose_charge_could_not_be_written_down_is_refused_before_it_begins(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    recorder = client.app[RECORDER]

    def full(*arguments: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async def call() -> int:
        path, body = _REQUESTS[model]
        async with client.post(path, json=body) as response:
            return response.status

    async def ready() -> int:
        async with client.get("/health/ready") as response:
            return response.status

    with monkeypatch.context() as patched:
        patched.setattr(Spool, "touch", full)
        await recorder._look()
        assert (await call(), await ready(), triton.calls) == (502, 503, [])
    await recorder._look()
    assert (await call(), await ready(), len(triton.calls)) == (200, 200, 1)
    assert len(await _rows(client, settings)) == 1


async def test_a_change_of_price_leaves_what_was_charged(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    await _speak(client)
    await client.close()
    dear = dataclasses.replace(PRICES["tts-1"], micro_chf=7_000_000)
    changed = dataclasses.replace(settings, prices={**PRICES, "tts-1": dear})
    app = create_app(changed, connect=lambda address: triton)
    async with TestClient(ProductServer(app, changed)) as later:
        await _speak(later)
        rows = await _rows(later, settings)
    assert sorted((row["price"], row["amount"]) for row in rows) == [
        (5_000_000, 5 * len(_TEXT)),
        (7_000_000, 7 * len(_TEXT)),
    ]
