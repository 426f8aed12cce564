import io
from typing import Any

import numpy as np
import pytest

from frontend.operations.transcription.pipeline import INPUTS
from tests.conftest import Client
from tests.fakes import FakeTriton
from tests.http.calls import contract_only, refusal
from tests.speech import TRANSCRIBE, decoded, encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

SPEECH = say("Good morning everybody, this is a test.")
WAV = encode(SPEECH, "wav")


async def _verbose(client: Client, file: bytes = WAV, /, **fields: Any) -> Any:
    """The answer as ``verbose_json``."""
    return await (await transcribe(client, file, response_format="verbose_json", **fields)).json()


@pytest.mark.contract_only
async def test_json_is_the_text_alone(client: Client) -> None:
    assert await (await transcribe(client, WAV)).json() == {"text": "hello there"}


async def test_text_is_plain_with_a_final_newline(client: Client) -> None:
    response = await transcribe(client, WAV, response_format="text")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert await response.text() == "hello there\n"


@pytest.mark.contract_only
async def test_verbose_json_has_every_field(client: Client) -> None:
    answer = await _verbose(client)
    assert list(answer) == ["task", "language", "duration", "text", "segments"]
    assert set(answer["segments"][0]) == {"id", "start", "end", "text", "avg_logprob", "no_speech_prob"}
    assert abs(answer["duration"] - len(SPEECH) / 16_000) < 0.01


@pytest.mark.parametrize("spelling", ["timestamp_granularities[]", "timestamp_granularities"])
async def test_words_come_when_asked_for(client: Client, spelling: str) -> None:
    file = encode(np.concatenate([np.zeros(48_000, np.float32), SPEECH]), "wav")
    answer = await _verbose(client, file, **{spelling: ["word", "segment"]})
    first, second = answer["words"]
    assert (first["word"], first["probability"]) == (" hello", 0.75)
    assert (second["word"], second["probability"]) == (" there", 0.5)
    # After three seconds of silence, with less than half of one before the speech.
    assert 2.6 <= first["start"] <= 3.1
    assert second["end"] - first["start"] == pytest.approx(1.0)


async def test_no_words_come_with_segments_alone(client: Client) -> None:
    assert "words" not in await _verbose(client, **{"timestamp_granularities[]": "segment"})


async def test_silence_is_empty_and_never_reaches_triton(client: Client, triton: FakeTriton) -> None:
    silence = encode(np.zeros(32_000, np.float32), "wav")
    answer = await _verbose(client, silence, language="DE")
    assert (answer["text"], answer["segments"], answer["language"]) == ("", [], "de")
    assert triton.calls == []


async def test_noise_without_speech_never_reaches_triton(client: Client, triton: FakeTriton) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 32_000).astype(np.float32)
    assert (await (await transcribe(client, encode(noise, "flac"))).json())["text"] == ""
    assert triton.calls == []


async def test_each_window_is_sent_with_its_sound_and_answered_with_its_time(
    client: Client, triton: FakeTriton
) -> None:
    gap = np.zeros(16_000, np.float32)
    # Without a pause, and too long for both to go into one window.
    parts = [say(f"this is part {name} of what was said about many things " * 6) for name in ("one", "two")]
    file = encode(np.concatenate([gap, parts[0], gap, parts[1]]), "wav")
    answer = await _verbose(client, file)
    whole = decoded(file).tobytes()
    sounds = [(inputs["audio"][0] * 32768).astype(np.int16).tobytes() for _, inputs in triton.calls]
    assert len(sounds) == 2
    starts = [segment["start"] for segment in answer["segments"]]
    assert [whole.find(sound) / 32_000 for sound in sounds] == pytest.approx(starts, abs=0.01)


@pytest.mark.contract_only
async def test_language_prompt_and_temperature_reach_the_model(client: Client, triton: FakeTriton) -> None:
    await transcribe(client, WAV, language="IT", prompt="Grüezi", temperature="0.5", model="stt-1-hd")
    model, inputs = triton.calls[0]
    # No other input, for models that were exported before there were translations.
    assert (model, tuple(inputs)) == ("whisper_large_v3", INPUTS)
    assert inputs["language"][0, 0] == b"it"
    assert inputs["prompt"][0, 0].decode() == "Grüezi"
    assert inputs["temperature"][0, 0] == 0.5


@pytest.mark.parametrize("code", ["jv", "jw", "JV"])
async def test_javanese_has_two_codes_and_is_answered_by_one(client: Client, triton: FakeTriton, code: str) -> None:
    answer = await _verbose(client, language=code)
    assert (triton.calls[0][1]["language"][0, 0], answer["language"]) == (b"jw", "jv")


async def test_javanese_that_is_recognised_is_answered_by_its_iso_code(client: Client, triton: FakeTriton) -> None:
    triton.spoil = lambda arrays: {**arrays, "language": np.array([[b"jw"]], np.object_)}
    assert (await _verbose(client))["language"] == "jv"


async def test_empty_parameters_are_absent(client: Client) -> None:
    response = await transcribe(client, WAV, language="", prompt="", response_format="", temperature="", model="")
    assert response.status == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        contract_only({"stream": "true"}, "stream"),
        ({"model": "whisper-1"}, "model"),
        ({"audio": io.BytesIO(b"RIFF")}, "audio"),
        ({"model": io.BytesIO(b"stt-1")}, "model"),
        ({"language": "xx"}, "language"),
        ({"language": "english"}, "language"),
        contract_only({"response_format": "srt"}, "response_format"),
        ({"temperature": "1.1"}, "temperature"),
        ({"temperature": "-0.1"}, "temperature"),
        ({"temperature": "nan"}, "temperature"),
        ({"temperature": "0x1"}, "temperature"),
        ({"prompt": "x" * 1025}, "prompt"),
        ({"timestamp_granularities[]": "word"}, "timestamp_granularities[]"),
        ({"timestamp_granularities[]": "line", "response_format": "verbose_json"}, "timestamp_granularities[]"),
        (
            {"timestamp_granularities[]": "word", "timestamp_granularities": "word", "response_format": "verbose_json"},
            "timestamp_granularities[]",
        ),
        ({"language": ["de", "en"]}, "language"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(client: Client, fields: dict[str, Any], param: str) -> None:
    assert await refusal(await transcribe(client, WAV, **fields)) == (400, param)


async def test_a_prompt_of_1024_code_points_is_taken(client: Client) -> None:
    assert (await transcribe(client, WAV, prompt="👍" * 1024)).status == 200


@pytest.mark.parametrize("temperature", ["0", "1", "1.0", "0.5", ".5", "5e-1"])
async def test_both_ends_of_the_temperature_are_taken(client: Client, temperature: str) -> None:
    assert (await transcribe(client, WAV, temperature=temperature)).status == 200


async def test_silence_has_an_empty_list_of_words(client: Client) -> None:
    silence = encode(np.zeros(32_000, np.float32), "wav")
    assert (await _verbose(client, silence, **{"timestamp_granularities[]": "word"}))["words"] == []


@pytest.mark.parametrize("order", [("file", "language"), ("language", "file")])
async def test_parts_come_in_any_order(client: Client, triton: FakeTriton, order: tuple[str, str]) -> None:
    parts: dict[str, Any] = {"file": io.BytesIO(WAV), "language": "de"}
    assert (await client.post(TRANSCRIBE, data={name: parts[name] for name in order})).status == 200
    assert triton.calls[0][1]["language"][0, 0] == b"de"
