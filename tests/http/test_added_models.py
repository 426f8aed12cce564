"""Models that an operator adds answer beside those of the contract."""

import asyncio
import contextlib
import dataclasses
import io
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from client.__main__ import main
from frontend.catalogue.models import PRICES, Served
from frontend.catalogue.voices import exported_voices
from frontend.config.reading import SettingsError
from frontend.operations.packed_model import load_tokenizer
from tests.conftest import EXTENSIONS, KEY, ROOT, Client, running, settings_in
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, refusal
from tests.own_models import OWN, beside_own
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAV = encode(say("Hello there"), "wav")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(database: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, FakeTriton]]:
    folder, repository = tmp_path_factory.mktemp("added"), tmp_path_factory.mktemp("repository")
    shutil.copy(database, folder / "quartet.sqlite3")
    exported = ROOT / "model_repository"
    added = beside_own(exported, exported_voices(exported), repository)
    prices = {**PRICES, **{model.id: model.price for model in OWN}}
    extensions = EXTENSIONS or "transcript_hints"
    own = settings_in(folder, added=added, prices=prices, model_repository=repository, extensions=extensions)
    triton = FakeTriton()
    async with running(own, triton) as connected:
        yield connected, triton


async def _embed(client: Client, **body: Any) -> Any:
    return await (await client.post(EMBED, json=body)).json()


async def test_it_is_listed_after_the_models_of_the_contract(client: Client) -> None:
    models = [model["id"] for model in (await (await client.get("/v1/models")).json())["data"]]
    assert models == [model.id for model in (*Served.of().models, *OWN)]


async def test_its_entry_says_its_operation_and_those_of_the_contract_stay(client: Client) -> None:
    entries = {each["id"]: each for each in (await (await client.get("/v1/models")).json())["data"]}
    assert entries["embed-e5"]["operation"] == "embeddings"
    assert entries["embed-m3"].keys() == {"id", "object", "created", "owned_by"}
    assert await (await client.get("/v1/models/embed-e5")).json() == entries["embed-e5"]
    assert (entries["whisper-en"]["languages"], "languages" in entries["embed-e5"]) == (["en"], False)


async def test_its_answers_are_recorded_and_verified(
    client: Client, triton: FakeTriton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "e5.json"
    record = ["--facts", "demo", "--model", "embed-e5", "--precision", "fp32", "--record", str(file)]
    assert await _verify(client, monkeypatch, *record) == 0
    assert {model for model, _ in triton.calls} == {"added_e5"}
    # The file names the model.
    assert await _verify(client, monkeypatch, "--facts", str(file)) == 0
    assert {model for model, _ in triton.calls} == {"added_e5"}
    triton.spoil = lambda arrays: {name: np.roll(array, 1, axis=-1) for name, array in arrays.items()}
    assert await _verify(client, monkeypatch, "--facts", str(file)) == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("embed-e6", "404: unknown model: embed-e6"), ("tts-1", "tts-1 is for speech; there are facts for embeddings")],
)
async def test_a_model_that_cannot_be_verified_is_a_sentence(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    assert await _verify(client, monkeypatch, "--facts", "demo", "--model", name) == 2
    assert reason in capfd.readouterr().err


async def _verify(client: Client, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command, which has an event loop of its own."""
    address = ["--url", str(client.make_url("/v1")), "--key", KEY]
    monkeypatch.setattr(sys, "argv", ["quartet", "verify", *address, *arguments])
    return await asyncio.to_thread(main)


async def test_its_calls_go_to_its_own_model_in_triton(client: Client, triton: FakeTriton) -> None:
    answer = await _embed(client, model="embed-e5", input="one two")
    assert answer["model"] == "embed-e5"
    assert [model for model, _ in triton.calls] == ["added_e5"]


async def test_texts_are_documents_unless_the_request_says_that_they_are_queries(client: Client) -> None:
    tokens = {}
    for kind in (None, "query", "search_query", "document", "passage"):
        answer = await _embed(client, model="embed-e5", input="one", **({"input_type": kind} if kind else {}))
        tokens[kind] = answer["usage"]["total_tokens"]
    assert tokens[None] == tokens["document"] == tokens["passage"]
    assert tokens["query"] == tokens["search_query"] < tokens[None]


@pytest.mark.parametrize("name", ["query_prefix", "document_prefix"])
@pytest.mark.parametrize(("words", "fits"), [(4094, True), (4095, False)])
async def test_a_prefix_that_leaves_less_than_half_of_the_tokens_stops_the_start(
    name: str, words: int, fits: bool
) -> None:
    """All texts behind a longer one would have the same vector."""
    own: dict[str, Any] = {name: "a " * words}
    model = dataclasses.replace(OWN[0], triton_model="m3_embedder", **own)
    refused = contextlib.nullcontext() if fits else pytest.raises(SettingsError, match="^embed-e5: a prefix takes more")
    with refused:
        load_tokenizer(ROOT / "model_repository", model)


async def test_the_models_of_the_contract_have_no_prefix(client: Client, triton: FakeTriton) -> None:
    plain = await _embed(client, model="embed-m3", input="one")
    of_query = await _embed(client, model="embed-m3", input="one", input_type="query")
    assert plain == of_query
    assert [model for model, _ in triton.calls] == ["m3_embedder", "m3_embedder"]


async def test_another_kind_of_input_is_refused(client: Client) -> None:
    answer = await client.post(EMBED, json={"model": "embed-e5", "input": "one", "input_type": "other"})
    assert await refusal(answer) == (400, "input_type")


async def test_a_model_that_was_trained_for_it_gives_shorter_vectors_of_length_1(client: Client) -> None:
    (row,) = (await _embed(client, model="embed-e5", input="one", dimensions=16))["data"]
    assert len(row["embedding"]) == 16
    assert sum(number * number for number in row["embedding"]) == pytest.approx(1)
    (row,) = (await _embed(client, model="embed-e5", input="one"))["data"]
    assert len(row["embedding"]) == 1024


async def test_another_size_of_vectors_is_refused_for_it_and_ignored_for_the_contracts_model(client: Client) -> None:
    answer = await client.post(EMBED, json={"model": "embed-e5", "input": "one", "dimensions": 17})
    assert await refusal(answer) == (400, "dimensions")
    (row,) = (await _embed(client, model="embed-m3", input="one", dimensions=17))["data"]
    assert len(row["embedding"]) == 1024


async def test_the_description_allows_vectors_of_each_size(client: Client) -> None:
    described = await (await client.get("/openapi.json")).json()
    vector = described["components"]["schemas"]["Embedding"]["properties"]["embedding"]
    assert (vector["minItems"], vector["maxItems"]) == (8, 1024)
    assert vector["description"].startswith("A vector of 1024 numbers and length 1;")


async def test_a_reranker_of_raw_scores_has_them_without_the_sigmoid(client: Client) -> None:
    """The fake's score is one by the tokens of a pair."""
    scores = {}
    for model in ("rerank-raw", "rerank-v2-m3"):
        body = {"query": "a", "documents": ["b"], "model": model}
        (result,) = (await (await client.post("/v1/rerank", json=body)).json())["results"]
        scores[model] = result["relevance_score"]
    usual = scores["rerank-v2-m3"]
    assert scores["rerank-raw"] == pytest.approx(np.log(usual / (1 - usual)), abs=1e-4)
    described = await (await client.get("/openapi.json")).json()
    assert "maximum" not in described["components"]["schemas"]["RankedDocument"]["properties"]["relevance_score"]


@pytest.mark.parametrize(("model", "status"), [("whisper-en", 400), ("stt-1", 200)])
async def test_a_whisper_of_english_alone_refuses_other_languages(client: Client, model: str, status: int) -> None:
    form = {"file": io.BytesIO(WAV), "model": model, "language": "de"}
    answer = await client.post("/v1/audio/transcriptions", data=form)
    assert answer.status == status
    if status == 400:
        error = (await answer.json())["error"]
        assert (error["param"], error["message"]) == (
            "language",
            "whisper-en does not know the language de; it knows en alone",
        )


async def test_a_language_that_it_does_not_know_is_named_with_its_parameter(client: Client) -> None:
    answer = await transcribe(client, WAV, model="whisper-en", **{"languages[]": ["en", "de"]})
    assert await refusal(answer) == (400, "languages[]")
    assert (await transcribe(client, WAV, model="whisper-en", **{"languages[]": ["en", "EN"]})).status == 200


async def test_a_whisper_of_english_alone_answers_without_a_language(client: Client, triton: FakeTriton) -> None:
    form = {"file": io.BytesIO(WAV), "model": "whisper-en"}
    answer = await (await client.post("/v1/audio/transcriptions", data=form)).json()
    assert answer["text"] == "hello there"
    assert {model for model, _ in triton.calls} == {"added_en"}
