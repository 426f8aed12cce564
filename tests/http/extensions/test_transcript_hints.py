"""Words that may be said, and several languages to choose from."""

from typing import Any

import openai
import pytest

from tests.conftest import KEY, Client
from tests.fakes import FakeTriton
from tests.http.calls import APART, refusal
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "transcript_hints, client_parameters, transcript_streaming"}
WAV = encode(say("Good morning everybody, this is a test."), "wav")


def _heard(triton: FakeTriton) -> tuple[str, str]:
    """The language and the prompt of the first call."""
    inputs = triton.calls[0][1]
    return inputs["language"].item().decode(), inputs["prompt"].item().decode()


async def test_keywords_stand_in_front_of_the_prompt(client: Client, triton: FakeTriton) -> None:
    fields = {"keywords[]": ["Zweisimmen", " Anna \n Gr\u00fcninger ", ""], "prompt": "Guten Tag."}
    assert (await transcribe(client, WAV, **fields)).status == 200
    assert _heard(triton) == ("", "Zweisimmen, Anna Gr\u00fcninger.\x1fGuten Tag.")


async def test_a_prompt_alone_is_sent_as_it_is(client: Client, triton: FakeTriton) -> None:
    assert (await transcribe(client, WAV, prompt="Guten Tag.", **{"keywords[]": " "})).status == 200
    assert _heard(triton) == ("", "Guten Tag.")


@pytest.mark.parametrize("given", [{}, {"keywords[]": ["a\x1fb"]}])
async def test_a_separator_of_the_callers_own_makes_no_keywords(
    client: Client, triton: FakeTriton, given: dict[str, Any]
) -> None:
    assert (await transcribe(client, WAV, prompt="Guten\x1fTag.", **given)).status == 200
    keywords, _, prompt = _heard(triton)[1].partition("\x1f")
    assert (keywords, prompt) == ("a b." if given else "", "Guten\x1fTag.")


@pytest.mark.parametrize("name", ["languages", "languages[]"])
async def test_several_languages_reach_the_model_and_one_is_as_language(
    client: Client, triton: FakeTriton, name: str
) -> None:
    assert (await transcribe(client, WAV, **{name: ["DE", "jv", "de", ""]})).status == 200
    assert _heard(triton)[0] == "de,jw"
    triton.calls.clear()
    assert (await transcribe(client, WAV, **{name: ["it", "IT"]})).status == 200
    assert _heard(triton)[0] == "it"


async def test_a_silent_file_has_the_language_that_the_request_tells(client: Client) -> None:
    silence = encode(0 * say("Hello."), "wav")
    for given, language in ((["it"], "it"), (["it", "de"], "")):
        answer = await transcribe(client, silence, response_format="verbose_json", **{"languages[]": given})
        assert (await answer.json())["language"] == language


async def test_openais_client_sends_both(client: Client, triton: FakeTriton) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        answer = await caller.audio.transcriptions.create(
            model="stt-1", file=("a.wav", WAV), keywords=["Anna", "Marco"], languages=["de", "fr"]
        )
    assert (answer.text, _heard(triton)) == ("hello there", ("de,fr", "Anna, Marco.\x1f"))


async def test_a_stream_has_both_too(client: Client, triton: FakeTriton) -> None:
    answer = await transcribe(client, WAV, stream="true", **{"keywords[]": "Anna", "languages[]": ["de", "fr"]})
    assert (answer.status, _heard(triton)) == (200, ("de,fr", "Anna.\x1f"))
    await answer.read()


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"languages[]": ["de", "xx"]}, "languages[]"),
        ({"languages[]": "de,en"}, "languages[]"),
        ({"languages[]": "de", "languages": "en"}, "languages[]"),
        ({"languages[]": ["de", "en"], "language": "de"}, "languages[]"),
        ({"keywords[]": ["a" * 600, "b" * 425]}, "keywords[]"),
        ({"keywords[]": "a", "keywords": "b"}, "keywords[]"),
    ],
)
async def test_what_is_wrong_is_400_and_named(client: Client, fields: dict[str, Any], param: str) -> None:
    assert await refusal(await transcribe(client, WAV, **fields)) == (400, param)


async def test_as_many_keywords_as_a_form_has_parts_are_taken(client: Client, triton: FakeTriton) -> None:
    assert (await transcribe(client, WAV, **{"keywords[]": ["\U0001f44d" * 16] * 62})).status == 200
    assert len(_heard(triton)[1]) == 62 * 18


@APART
@pytest.mark.contract_only
@pytest.mark.parametrize("name", ["keywords[]", "keywords", "languages[]", "languages"])
async def test_without_the_extension_they_are_refused(client: Client, name: str) -> None:
    assert await refusal(await transcribe(client, WAV, **{name: "de"})) == (400, name)
