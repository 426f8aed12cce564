"""What an answer costs, and that a request that is sent again is the same one."""

import dataclasses
from typing import Any

import pytest

from frontend.app_keys import CHARGES
from frontend.billing.charges import Spool
from frontend.catalogue.models import PRICES
from frontend.config.settings import Settings
from frontend.errors import BadGateway
from tests.charges import COST, ORG_KEY, TEXT, Books, charges, find_disk_full, speak
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.speech import encode, say, transcribe

_REQUESTS: dict[str, tuple[str, dict[str, str]]] = {
    "tts-1": ("/v1/audio/speech", {"input": TEXT, "voice": "amy"}),
    # Free, but counted.
    "embed-m3": ("/v1/embeddings", {"input": TEXT}),
}


async def test_speech_costs_by_code_point(client: Client, settings: Settings) -> None:
    await speak(client, "H\u00e9llo there \U0001f600.", **{"X-Request-Id": "order-66"})
    (row,) = await charges(client, settings)
    assert (row["operation"], row["model"], row["quantity"], row["amount"]) == ("speech", "tts-1", 14, 70)
    assert row["request_id"] == "order-66"


async def test_transcription_costs_by_decoded_second(client: Client, settings: Settings) -> None:
    wav = encode(say("one two three"), "wav")
    answer = await (await transcribe(client, wav, response_format="verbose_json")).json()
    (row,) = await charges(client, settings)
    milliseconds = round(answer["duration"] * 1000)
    assert (row["quantity"], row["amount"]) == (milliseconds, (milliseconds * 100 + 500) // 1000)


async def test_silence_is_free_and_not_recorded(client: Client, settings: Settings) -> None:
    assert (await transcribe(client, encode(0 * say("one two three"), "wav"))).status == 200
    assert await charges(client, settings) == []


@pytest.mark.parametrize("fields", [{}, {"response_format": "verbose_json"}], ids=["text", "everything"])
async def test_a_transcript_without_a_word_is_free(
    client: Client, settings: Settings, triton: FakeTriton, fields: dict[str, str]
) -> None:
    triton.spoil = lambda arrays: {
        name: array[:, :0] if name.startswith("word") else array for name, array in arrays.items()
    }
    answer = await transcribe(client, encode(say("one two three"), "wav"), **fields)
    assert (answer.status, (await answer.json())["text"], await charges(client, settings)) == (200, "", [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": ["one", "two three"]}),
        ("/v1/rerank", {"query": "one", "documents": ["two", "three"]}),
    ],
)
async def test_text_models_are_charged_by_the_tokens_in_their_usage(
    client: Client, settings: Settings, path: str, body: dict[str, Any]
) -> None:
    answer = await (await client.post(path, json=body)).json()
    (row,) = await charges(client, settings)
    assert (row["quantity"], row["amount"]) == (answer["usage"]["total_tokens"], 0)


async def test_a_request_that_fails_is_free(client: Client, settings: Settings, triton: FakeTriton) -> None:
    triton.failure = BadGateway("no")
    assert (await speak(client))[0] == 502
    assert await charges(client, settings) == []


async def test_a_spent_wallet_is_429_in_the_contracts_words(client: Client, books: Books, triton: FakeTriton) -> None:
    await books.top_up("acme", COST)
    assert (await speak(client, key=ORG_KEY))[0] == 200
    status, error = await speak(client, key=ORG_KEY)
    assert len(triton.calls) == 1
    assert (status, error["type"], error["code"]) == (429, "insufficient_quota", "insufficient_quota")
    assert error["message"] == "the balance does not cover this request"


async def test_a_request_that_fails_releases_its_money(client: Client, books: Books, triton: FakeTriton) -> None:
    await books.top_up("acme", COST)
    triton.failure = BadGateway("no")
    assert (await speak(client, key=ORG_KEY))[0] == 502
    triton.failure = None
    assert (await speak(client, key=ORG_KEY))[0] == 200


async def test_without_a_wallet_usage_is_only_recorded(client: Client, settings: Settings, books: Books) -> None:
    await speak(client, key=ORG_KEY)
    (row,) = await charges(client, settings)
    assert (row["org"], row["prepaid"], await books.balance("acme")) == ("acme", False, None)


@pytest.mark.parametrize("model", ["tts-1", "embed-m3"])
async def test_without_room_for_its_charge_a_request_is_refused_before_the_work(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    written = client.app[CHARGES]

    async def statuses() -> list[int]:
        path, body = _REQUESTS[model]
        return [answer.status for answer in (await client.post(path, json=body), await client.get("/health/ready"))]

    with monkeypatch.context() as patched:
        patched.setattr(Spool, "check", find_disk_full)
        await written._check()
        assert (await statuses(), triton.calls) == ([502, 503], [])
    await written._check()
    assert (await statuses(), len(triton.calls)) == ([200, 200], 1)
    assert len(await charges(client, settings)) == 1


async def test_a_new_price_leaves_what_was_charged(client: Client, settings: Settings, triton: FakeTriton) -> None:
    await speak(client)
    await client.close()
    dear = dataclasses.replace(PRICES["tts-1"], micro_chf=7_000_000)
    changed = dataclasses.replace(settings, prices={**PRICES, "tts-1": dear})
    async with running(changed, triton) as later:
        await speak(later)
        rows = await charges(later, settings)
    assert sorted((row["price"], row["amount"]) for row in rows) == [(5_000_000, COST), (7_000_000, 7 * len(TEXT))]


async def test_a_charge_pays_for_three_answers_to_its_request(client: Client, settings: Settings) -> None:
    for _ in range(10):
        await speak(client, **{"X-Request-Id": "order-66"})
    rows = await charges(client, settings)
    assert sorted(row["answers"] for row in rows) == [1, 3, 3, 3]
    assert sum(row["amount"] for row in rows) == 4 * COST


async def test_the_same_id_for_another_request_is_charged(client: Client, settings: Settings) -> None:
    for text in ("One.", "Two."):
        await speak(client, text, **{"X-Request-Id": "order-66"})
    assert len(await charges(client, settings)) == 2


@pytest.mark.parametrize(
    ("one", "other", "requests"),
    [
        # Each form has another boundary.
        ({}, {}, 1),
        ({"prompt": "a\nlanguage\nen"}, {"prompt": "a", "language": "en"}, 2),
        ({"prompt": "en"}, {"language": "en"}, 2),
        ({"prompt": ""}, {}, 2),
    ],
)
async def test_forms_that_differ_anywhere_but_in_their_boundary_are_two_requests(
    client: Client, settings: Settings, one: dict[str, str], other: dict[str, str], requests: int
) -> None:
    wav = encode(say("one two three"), "wav")
    for fields in (one, other):
        assert (await transcribe(client, wav, headers={"X-Request-Id": "order-66"}, **fields)).status == 200
    assert len(await charges(client, settings)) == requests
