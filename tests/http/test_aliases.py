"""Names and parameters of apps that know OpenAI alone: accepted if the settings have them, otherwise refused."""

from typing import Any

import openai
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.catalogue.aliases import Aliases
from frontend.config.settings import Settings
from frontend.pages.openapi import document
from tests.charges import charges
from tests.conftest import KEY, Client
from tests.fakes import FakeTriton
from tests.http.calls import APART, contract_only, refusal
from tests.own_models import ADDED_NAMES
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALIASES = Aliases(
    models={"whisper-1": "stt-1", "gpt-4o-mini-tts": "tts-1", "BAAI/bge-m3": "embed-m3"},
    voices={"alloy": "amy", "onyx": "ryan"},
    ignore=("user", "stream", "stream_format", "instructions", "include[]"),
    speech_format="mp3",
)
SETTINGS = {"aliases": ALIASES}
WAV = encode(say("Good morning everybody, this is a test."), "wav")
SPEECH = {"input": "Hello.", "voice": "amy"}


@APART
@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/audio/speech", SPEECH | {"model": "gpt-4o-mini-tts"}, "model"),
        ("/v1/audio/speech", SPEECH | {"voice": "alloy"}, "voice"),
        contract_only("/v1/audio/speech", SPEECH | {"stream_format": "audio"}, "stream_format"),
        contract_only("/v1/embeddings", {"input": "a", "user": "u"}, "user"),
    ],
)
async def test_names_and_parameters_of_others_are_refused_unless_they_are_set(
    client: Client, path: str, body: dict[str, Any], param: str
) -> None:
    assert await refusal(await client.post(path, json=body)) == (400, param)


@APART
@pytest.mark.contract_only
async def test_v1_has_no_list_of_voices_unless_aliases_are_set(client: Client) -> None:
    assert (await client.get("/v1/audio/voices")).status == 404


@pytest.mark.parametrize("stream", ["", "false", "False", "FALSE", "0"])
async def test_a_form_may_ask_for_no_events_in_any_case(client: Client, stream: str) -> None:
    assert (await transcribe(client, WAV, stream=stream)).status == 200


async def test_openais_client_works_with_openais_names(client: Client) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        heard = await caller.audio.transcriptions.create(model="whisper-1", file=("a.wav", WAV), stream=False)
        vectors = await caller.embeddings.create(model="BAAI/bge-m3", input="a", user="u", dimensions=256)
        speech = await caller.audio.speech.create(
            model="gpt-4o-mini-tts", voice="alloy", input="Hello.", instructions="calm"
        )
    assert (heard.text, len(vectors.data[0].embedding), speech.content[:1]) == ("hello there", 1024, b"\xff")


async def test_an_answer_names_the_model_behind_the_alias(client: Client) -> None:
    answer = await client.post("/v1/embeddings", json={"model": "BAAI/bge-m3", "input": "a"})
    assert (answer.status, (await answer.json())["model"]) == (200, "embed-m3")


async def test_the_voice_behind_an_alias_speaks(client: Client, triton: FakeTriton) -> None:
    assert (await client.post("/v1/audio/speech", json=SPEECH | {"voice": "onyx"})).status == 200
    assert {call[0] for call in triton.calls} == {"piper_ryan"}


@APART
@pytest.mark.settings(aliases=ALIASES)
async def test_charges_and_metrics_are_of_the_model_itself(client: Client, settings: Settings) -> None:
    assert (await transcribe(client, WAV, model="whisper-1")).status == 200
    assert "whisper-1" not in await (await client.get("/metrics")).text()
    assert [row["model"] for row in await charges(client, settings)] == ["stt-1"]


async def test_aliases_hold_in_a_body_that_a_process_parses(client: Client) -> None:
    body = {"model": "BAAI/bge-m3", "input": ["word " * 300] * 30, "user": "u"}
    assert (await client.post("/v1/embeddings", json=body)).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/audio/speech", SPEECH | {"stream": True, "stream_format": "audio", "instructions": "calm"}),
        ("/v1/embeddings", {"input": "a", "user": {"any": "thing"}}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "user": "u"}),
    ],
)
async def test_an_ignored_parameter_is_accepted(client: Client, path: str, body: dict[str, Any]) -> None:
    assert (await client.post(path, json=body)).status == 200


async def test_a_form_may_have_an_ignored_parameter_more_than_once(client: Client) -> None:
    fields = {"include[]": ["logprobs", "other"], "stream": "false", "user": "u"}
    assert (await (await transcribe(client, WAV, **fields)).json())["text"] == "hello there"


async def test_a_parameter_that_is_not_ignored_is_refused(client: Client) -> None:
    assert await refusal(await client.post("/v1/embeddings", json={"input": "a", "dims": 3})) == (400, "dims")


@pytest.mark.contract_only
async def test_a_request_for_events_is_refused(client: Client) -> None:
    refused = await client.post("/v1/audio/speech", json=SPEECH | {"stream_format": "sse"})
    assert await refusal(refused) == (400, "stream_format")
    assert await refusal(await transcribe(client, WAV, stream="True")) == (400, "stream")


async def test_speech_has_the_audio_format_of_the_settings_unless_one_is_named(client: Client) -> None:
    formats = [{}, {"response_format": "wav"}]
    answers = [await client.post("/v1/audio/speech", json=SPEECH | each) for each in formats]
    assert [answer.headers["Content-Type"] for answer in answers] == ["audio/mpeg", "audio/wav"]


async def test_models_are_found_by_all_their_names(client: Client) -> None:
    listed = (await (await client.get("/v1/models")).json())["data"]
    last = ["rerank-v2-m3", *ADDED_NAMES, *ALIASES.models]
    assert [model["id"] for model in listed][-len(last) :] == last
    assert (await (await client.get("/v1/models/BAAI/bge-m3")).json())["id"] == "BAAI/bge-m3"


@pytest.mark.contract_only
async def test_voices_are_listed_by_all_their_names(client: Client) -> None:
    listed = (await (await client.get("/v1/audio/voices")).json())["voices"]
    assert [voice["id"] for voice in listed][-3:] == ["siwis", "alloy", "onyx"]
    assert listed[-1] == {"id": "onyx", "name": "onyx", "language": "en", "gender": "male"}
    assert (await client.get("/v1/audio/voices", headers={"Authorization": ""})).status == 401


@pytest.mark.parametrize(("field", "value"), [("voice", "alloy"), ("user", "u")])
async def test_the_mobile_dialect_keeps_to_the_contract(
    client: Client, mobile: dict[str, str], field: str, value: str
) -> None:
    body = {"text": "Hello.", "voice": "amy", field: value}
    refused = await client.post("/api/v1/audio/synthesize", json=body, headers=mobile)
    assert await refusal(refused) == (400, field)


async def test_the_offer_has_the_aliases(client: Client) -> None:
    offer = await (await client.get("/offer.json")).json()
    assert offer["aliases"] == {"models": ALIASES.models, "voices": ALIASES.voices}
    assert "whisper-1" not in {model["id"] for model in offer["models"]}


async def test_the_openapi_document_has_the_aliases() -> None:
    whole = document(Settings(aliases=ALIASES))
    OpenAPIV31SpecValidator(whole).validate()
    speech = whole["paths"]["/v1/audio/speech"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"alloy", "amy"} < set(speech["properties"]["voice"]["enum"])
    assert (speech["properties"]["response_format"]["default"], "stream" in speech["properties"]) == ("mp3", True)
