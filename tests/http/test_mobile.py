"""The mobile dialect over the same operations."""

import io
from typing import Any

import numpy as np
import pytest
from aiohttp import FormData

from frontend.access.jwt import Tokens
from tests.conftest import JWT_SECRET, Client, bearer
from tests.fakes import FakeTriton
from tests.http.calls import refusal
from tests.speech import decoded, encode, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRANSCRIBE = "/api/v1/audio/transcribe"
SYNTHESIZE = "/api/v1/audio/synthesize"
VOICES = "/api/v1/audio/voices"
WAV = encode(say("Good morning everybody, this is a test."), "wav")


async def _transcribe(client: Client, headers: dict[str, str], file: Any = WAV, **fields: str) -> Any:
    form = FormData(default_to_multipart=True)
    for name, value in fields.items():
        form.add_field(name, value)
    if file is not None:
        form.add_field("audio", io.BytesIO(file), filename="a.wav")
    return await client.post(TRANSCRIBE, data=form, headers=headers)


async def test_an_answer_has_every_field_and_no_segments(client: Client, mobile: dict[str, str]) -> None:
    answer = await (await _transcribe(client, mobile)).json()
    assert list(answer) == ["text", "language", "duration_seconds", "model", "segments"]
    assert (answer["text"], answer["language"], answer["model"]) == ("hello there", "en", "stt-1")
    assert answer["segments"] == []


@pytest.mark.parametrize(("value", "count"), [("true", 1), ("TRUE", 1), ("1", 1), ("false", 0), ("0", 0), ("", 0)])
async def test_segments_come_when_asked_for(client: Client, mobile: dict[str, str], value: str, count: int) -> None:
    answer = await (await _transcribe(client, mobile, with_segments=value)).json()
    fields = {"id", "start", "end", "text", "avg_logprob", "no_speech_prob"}
    assert [set(segment) for segment in answer["segments"]] == [fields] * count


async def test_a_language_reaches_the_model(client: Client, mobile: dict[str, str], triton: FakeTriton) -> None:
    await _transcribe(client, mobile, language="IT")
    assert triton.calls[0][1]["language"][0, 0] == b"it"


async def test_silence_is_empty(client: Client, mobile: dict[str, str], triton: FakeTriton) -> None:
    answer = await (await _transcribe(client, mobile, encode(np.zeros(16_000, np.float32), "wav"))).json()
    assert (answer["text"], answer["language"], answer["duration_seconds"]) == ("", "", 1.0)
    assert triton.calls == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "stt-1"}, "model"),
        ({"response_format": "json"}, "response_format"),
        ({"audio_file": "x"}, "audio_file"),
        ({"language": "xx"}, "language"),
        ({"with_segments": "yes"}, "with_segments"),
    ],
)
async def test_a_bad_field_is_400_and_named(
    client: Client, mobile: dict[str, str], fields: dict[str, str], param: str
) -> None:
    response = await _transcribe(client, mobile, **fields)
    assert await refusal(response) == (400, param)


@pytest.mark.parametrize(
    ("file", "status"),
    [(None, 400), (b"", 400), (b"\x89PNG\r\n\x1a\n" + bytes(500), 415), (bytes(25 * 1024 * 1024 + 1), 413)],
)
async def test_a_file_is_refused_as_on_the_developer_endpoint(
    client: Client, mobile: dict[str, str], file: bytes | None, status: int
) -> None:
    response = await _transcribe(client, mobile, file)
    assert await refusal(response) == (status, "audio")


async def _synthesize(client: Client, headers: dict[str, str], **body: Any) -> Any:
    return await client.post(SYNTHESIZE, json={"text": "Hello there.", "voice": "amy", **body}, headers=headers)


async def test_mp3_is_the_default(client: Client, mobile: dict[str, str]) -> None:
    response = await _synthesize(client, mobile)
    assert response.headers["Content-Type"] == "audio/mpeg"
    assert len(decoded(await response.read())) > 0


async def test_wav_is_given_on_demand(client: Client, mobile: dict[str, str]) -> None:
    response = await _synthesize(client, mobile, format="wav")
    assert response.headers["Content-Type"] == "audio/wav"
    assert (await response.read())[:4] == b"RIFF"


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"text": ""}, 400, "text"),
        ({"text": "..."}, 400, "text"),
        ({"text": "x" * 5001}, 413, "text"),
        ({"voice": None}, 400, "voice"),
        ({"voice": "AMY"}, 400, "voice"),
        ({"format": "ogg"}, 400, "format"),
        ({"input": "x"}, 400, "input"),
        ({"language": "en"}, 400, "language"),
    ],
)
async def test_a_bad_parameter_is_refused_and_named(
    client: Client, mobile: dict[str, str], body: dict[str, Any], status: int, param: str
) -> None:
    response = await _synthesize(client, mobile, **body)
    assert await refusal(response) == (status, param)


async def test_the_voices_are_those_of_the_catalogue(client: Client, mobile: dict[str, str]) -> None:
    answer = await (await client.get(VOICES, headers=mobile)).json()
    assert [(voice["name"], voice["language"], voice["gender"]) for voice in answer["voices"]] == [
        ("paola", "it", "female"),
        ("riccardo", "it", "male"),
        ("amy", "en", "female"),
        ("ryan", "en", "male"),
        ("thorsten", "de", "male"),
        ("siwis", "fr", "female"),
    ]
    defaults = {"it": "paola", "en": "amy", "de": "thorsten", "fr": "siwis", "rm": "paola"}
    assert answer["defaults_by_language"] == defaults


async def test_the_voices_are_not_throttled(client: Client, mobile: dict[str, str]) -> None:
    assert "X-RateLimit-Limit" not in (await client.get(VOICES, headers=mobile)).headers


@pytest.mark.parametrize(("method", "path"), [("POST", TRANSCRIBE), ("POST", SYNTHESIZE), ("GET", VOICES)])
async def test_an_api_key_is_no_mobile_token(client: Client, method: str, path: str) -> None:
    response = await client.request(method, path)
    error = (await response.json())["error"]
    assert (response.status, error["type"]) == (401, "invalid_api_key")
    assert error["message"] == "the token is missing, invalid or expired"


async def test_a_mobile_token_is_no_api_key(client: Client, mobile: dict[str, str]) -> None:
    assert (await client.get("/v1/models", headers=mobile)).status == 401


@pytest.mark.parametrize("path", [TRANSCRIBE, SYNTHESIZE])
async def test_each_subject_is_counted_on_its_own(client: Client, path: str) -> None:
    tokens = Tokens("quartet-mobile", "quartet", JWT_SECRET)
    subjects = [f"{path} 1", f"{path} 1", f"{path} 2"]
    answers = [await client.post(path, json={}, headers=bearer(tokens.issue(subject, 60))) for subject in subjects]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["999999", "999998", "999999"]
