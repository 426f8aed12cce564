"""The seconds of a transcript that are charged, in its JSON."""

from typing import Any

import numpy as np
import pytest
from aiohttp import FormData
from openai import AsyncOpenAI

from frontend.config.settings import Settings
from tests.charges import charges
from tests.conftest import KEY, Client
from tests.speech import encode, say, transcribe

# Of a length that is half a millisecond more than whole ones.
WAV = encode(say("Good morning everybody, this is a test.")[:32_776], "wav")
on = pytest.mark.settings(extensions="transcript_usage,translations,transcript_streaming")


async def _usage(client: Client, file: bytes, **fields: Any) -> Any:
    return (await (await transcribe(client, file, **fields)).json())["usage"]


@on
@pytest.mark.parametrize("response_format", ["json", "verbose_json"])
async def test_the_usage_of_a_transcript_is_what_is_charged(
    client: Client, settings: Settings, response_format: str
) -> None:
    usage = await _usage(client, WAV, response_format=response_format)
    (row,) = await charges(client, settings)
    assert usage == {"type": "duration", "seconds": row["quantity"] / 1000}
    assert usage["seconds"] > 1


@on
async def test_a_silent_file_has_a_usage_of_nothing(client: Client) -> None:
    assert await _usage(client, encode(np.zeros(32_000, np.float32), "wav")) == {"type": "duration", "seconds": 0}


@on
async def test_the_openai_client_reads_the_usage(client: Client) -> None:
    async with AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        heard = await caller.audio.transcriptions.create(model="stt-1", file=("a.wav", WAV))
    assert heard.usage is not None
    assert heard.usage.type == "duration"
    assert heard.usage.seconds > 1


@on
async def test_a_translation_has_it_too(client: Client) -> None:
    form = FormData({"response_format": "verbose_json"}, default_to_multipart=True)
    form.add_field("file", WAV, filename="a.wav")
    answer = await (await client.post("/v1/audio/translations", data=form)).json()
    assert answer["usage"]["seconds"] == answer["duration"]


@on
@pytest.mark.parametrize("fields", [{"stream": "true"}, {"response_format": "text"}])
async def test_text_and_events_stay_as_they_are(client: Client, fields: dict[str, str]) -> None:
    assert "usage" not in await (await transcribe(client, WAV, **fields)).text()


@pytest.mark.contract_only
@pytest.mark.parametrize("response_format", ["json", "verbose_json"])
async def test_without_the_extension_there_is_none(client: Client, response_format: str) -> None:
    assert "usage" not in await (await transcribe(client, WAV, response_format=response_format)).json()
