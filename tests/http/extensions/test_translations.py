"""Speech to English text."""

import io
from typing import Any

import numpy as np
import openai
import pytest
from aiohttp import FormData
from openapi_spec_validator import OpenAPIV31SpecValidator

from frontend.catalogue.aliases import Aliases
from frontend.config.settings import Settings
from frontend.extensions.translations.parameters import PARAMETERS
from tests.charges import charges
from tests.conftest import KEY, Client
from tests.fakes import FakeTriton
from tests.http.calls import APART, refusal
from tests.speech import encode, say, transcribe

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.settings(extensions="translations")]

SETTINGS = {
    "extensions": "translations, subtitles",
    "aliases": Aliases(models={"whisper-1": "stt-1-hd", "fast": "stt-1"}, ignore=("stream",)),
}
TRANSLATE = "/v1/audio/translations"
WAV = encode(say("Good morning everybody, this is a test."), "wav")


async def _translate(client: Client, **fields: Any) -> Any:
    form = FormData(fields, default_to_multipart=True)
    form.add_field("file", io.BytesIO(WAV), filename="a.wav")
    return await client.post(TRANSLATE, data=form)


async def test_a_translation_asks_the_model_for_one(client: Client, triton: FakeTriton) -> None:
    answer = await _translate(client, prompt="Grüezi", temperature="0.5")
    ((model, inputs),) = triton.calls
    assert await answer.json() == {"text": "hello there"}
    assert (model, inputs["translate"].tolist()) == ("whisper_large_v3", [[True]])
    assert (inputs["prompt"][0, 0].decode(), inputs["temperature"][0, 0]) == ("Grüezi", 0.5)


async def test_only_a_model_that_translates_has_an_input_for_it(client: Client, triton: FakeTriton) -> None:
    for model in ("stt-1", "stt-1-hd"):
        await transcribe(client, WAV, model=model)
    (_, fast), (_, exact) = triton.calls
    assert "translate" not in fast
    assert exact["translate"].tolist() == [[False]]


async def test_a_verbose_translation_is_english(client: Client, triton: FakeTriton) -> None:
    triton.spoil = lambda arrays: {**arrays, "language": np.array([[b"de"]], np.object_)}
    answer = await (await _translate(client, response_format="verbose_json")).json()
    assert (answer["task"], answer["language"]) == ("translate", "en")


@pytest.mark.parametrize("response_format", ["text", "srt", "vtt"])
async def test_a_translation_can_be_text_and_subtitles(client: Client, response_format: str) -> None:
    assert (await (await _translate(client, response_format=response_format)).text()).rstrip().endswith("hello there")


async def test_a_model_may_be_named_by_an_alias(client: Client) -> None:
    assert (await _translate(client, model="whisper-1")).status == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "stt-1"}, "model"),
        ({"model": "fast"}, "model"),
        ({"language": "de"}, "language"),
        ({"stream": "true"}, "stream"),
        ({"response_format": "xml"}, "response_format"),
        ({"prompt": "x" * 1025}, "prompt"),
        ({"temperature": "2"}, "temperature"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, fields: dict[str, str], param: str) -> None:
    assert await refusal(await _translate(client, **fields)) == (400, param)


async def test_the_models_that_translate_are_named_in_the_refusal_of_another(client: Client) -> None:
    error = (await (await _translate(client, model="stt-1")).json())["error"]
    assert (error["message"], error["code"]) == (
        "unknown model: stt-1; this endpoint has stt-1-hd, whisper-1",
        "model_not_found",
    )


async def test_the_client_of_openai_translates(client: Client) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        with pytest.deprecated_call():
            heard = await caller.audio.translations.create(model="whisper-1", file=("a.wav", WAV))
    assert heard.text == "hello there"


async def test_the_openapi_document_has_the_path(client: Client) -> None:
    document = await (await client.get("/openapi.json")).json()
    OpenAPIV31SpecValidator(document).validate()
    form = document["paths"][TRANSLATE]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    assert form["model"]["enum"] == ["stt-1-hd", "whisper-1"]
    assert form["response_format"]["enum"] == ["json", "verbose_json", "text", "srt", "vtt"]


async def test_what_translations_ignore_does_not_depend_on_streams_of_transcripts() -> None:
    alone, all_on = (Settings(extensions=names).served for names in ("translations, client_parameters", "all"))
    assert "stream" in PARAMETERS.ignored(alone) == PARAMETERS.ignored(all_on)


@APART
async def test_a_translation_costs_what_a_transcription_costs(client: Client, settings: Settings) -> None:
    await _translate(client)
    await transcribe(client, WAV, model="stt-1-hd")
    translated, transcribed = await charges(client, settings)
    for name in ("operation", "model", "quantity", "amount"):
        assert translated[name] == transcribed[name]


@APART
@pytest.mark.parametrize(
    "client",
    [
        pytest.param(None, marks=pytest.mark.settings(extensions=""), id="without the extension"),
        pytest.param(None, marks=pytest.mark.settings(models="stt-1"), id="without a model that translates"),
    ],
    indirect=True,
)
async def test_there_may_be_no_such_path(client: Client) -> None:
    assert (await _translate(client)).status == 404
