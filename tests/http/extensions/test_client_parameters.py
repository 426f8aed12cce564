"""What popular clients send without need is ignored, if the extension is on."""

import re
from typing import Any

import openai
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.config.settings import Settings
from frontend.pages.docs import guide
from frontend.pages.openapi import document
from frontend.parameters.table import without_spellings
from frontend.parameters.tables import TABLES
from tests.conftest import KEY, ROOT, Client
from tests.http.calls import APART, refusal
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "client_parameters"}
ON = Settings(extensions="client_parameters")
WAV = encode(say("Good morning everybody, this is a test."), "wav")
SPEECH = {"input": "Hello.", "voice": "amy"}


async def test_openais_client_may_send_what_has_no_effect(client: Client) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        heard = await caller.audio.transcriptions.create(
            model="stt-1",
            file=("a.wav", WAV),
            stream=False,
            include=["logprobs"],
            chunking_strategy={"type": "server_vad", "threshold": 0.5},
            extra_body={"user": "u"},
        )
        vectors = await caller.embeddings.create(model="embed-m3", input="a", user="u")
        speech = await caller.audio.speech.create(
            model="tts-1", voice="amy", input="Hello.", instructions="calm", stream_format="audio"
        )
    assert (heard.text, len(vectors.data), speech.content[:4]) == ("hello there", 1, b"RIFF")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/audio/speech", SPEECH | {"stream": True, "lang_code": "a", "normalization_options": {"normalize": True}}),
        ("/v1/embeddings", {"input": "a", "input_type": "query", "task": "retrieval.query", "truncate": "END"}),
        ("/v1/embeddings", {"input": "a", "truncation": False, "embedding_type": "float"}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "user": "u", "truncation": True}),
    ],
)
async def test_a_parameter_without_effect_is_ignored(client: Client, path: str, body: dict[str, Any]) -> None:
    assert (await client.post(path, json=body)).status == 200


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v1/audio/speech", SPEECH | {"stream_format": "sse"}, "stream_format"),
        ("/v1/audio/speech", SPEECH | {"volume_multiplier": 2}, "volume_multiplier"),
        ("/v1/embeddings", {"input": "a", "late_chunking": True}, "late_chunking"),
        ("/v1/embeddings", {"input": "a", "embedding_type": "binary"}, "embedding_type"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "rank_fields": ["c"]}, "rank_fields"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_k": 0}, "top_k"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_k": 1, "top_n": 1}, "top_k"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "max_doc_length": "x"}, "max_doc_length"),
    ],
)
async def test_a_parameter_that_changes_the_answer_is_refused(
    client: Client, path: str, body: dict[str, Any], named: str
) -> None:
    assert await refusal(await client.post(path, json=body)) == (400, named)


async def test_jinas_and_voyages_names_mean_what_ours_do(client: Client) -> None:
    ranked = {"query": "q", "documents": ["a b c d", "a", "a b"]}
    first = await (await client.post("/v1/rerank", json={**ranked, "top_k": 1, "top_n": None})).json()
    for more in ({"top_k": 1, "top_n": ""}, {"top_k": "", "top_n": 1}):
        assert (await (await client.post("/v1/rerank", json={**ranked, **more})).json()) == first
    cut = await (await client.post("/v1/rerank", json={**ranked, "max_doc_length": 1})).json()
    assert [each["index"] for each in first["results"]] == [1]
    assert len({each["relevance_score"] for each in cut["results"]}) == 1
    asked = [{"embedding_type": "base64"}, {"embedding_type": "base64", "encoding_format": "float"}]
    answers = [await (await client.post("/v1/embeddings", json={"input": "a", **more})).json() for more in asked]
    assert [type(answer["data"][0]["embedding"]) for answer in answers] == [str, list]


@APART
@pytest.mark.contract_only
@pytest.mark.parametrize("name", ["top_k", "max_doc_length", "embedding_type", "truncation"])
async def test_without_the_extension_they_are_refused(client: Client, name: str) -> None:
    path, body = (
        ("/v1/rerank", {"query": "a", "documents": ["b"]})
        if name != "embedding_type"
        else ("/v1/embeddings", {"input": "a"})
    )
    assert await refusal(await client.post(path, json={**body, name: 1})) == (400, name)


async def test_a_transcript_as_events_is_refused(client: Client) -> None:
    assert await refusal(await transcribe(client, WAV, stream="true")) == (400, "stream")


@pytest.mark.parametrize("tokens", [[1, 2], [[1, 2], [3]]])
async def test_the_refusal_of_tokens_names_the_switch_of_the_client(client: Client, tokens: list[Any]) -> None:
    error = (await (await client.post("/v1/embeddings", json={"input": tokens})).json())["error"]
    assert (error["param"], "check_embedding_ctx_length=False" in error["message"]) == ("input", True)


@APART
@pytest.mark.contract_only
async def test_without_the_extension_tokens_are_refused_as_ever(client: Client) -> None:
    error = (await (await client.post("/v1/embeddings", json={"input": [1, 2]})).json())["error"]
    assert error["message"] == "input[0] must be a string"


async def test_the_documents_name_what_is_ignored() -> None:
    whole = document(ON)
    OpenAPIV31SpecValidator(whole).validate()
    speech = whole["paths"]["/v1/audio/speech"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert speech["properties"]["instructions"] == {"description": "Accepted and ignored."}
    # Generators of clients make one name of both spellings.
    form = whole["paths"]["/v1/audio/transcriptions"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert ("include" in form["properties"], "include[]" in form["properties"]) == (True, False)
    assert "ignored here: `user`, `stream`, `include`, `chunking_strategy`, `keywords`, `vad_filter`" in guide(ON)


@pytest.mark.parametrize("operation", TABLES)
async def test_the_page_about_extensions_lists_what_clients_may_send(operation: str) -> None:
    page = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {operation} \| (.*) \|$", page.partition("### Parameters that are ignored")[2], re.MULTILINE)
    assert row
    listed = re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", row[1]))
    assert listed == without_spellings(TABLES[operation].ignored(ON.served))
