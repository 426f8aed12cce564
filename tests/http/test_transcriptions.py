import dataclasses
import io
import logging
from typing import Any

import numpy as np
import pytest
from aiohttp import FormData

from frontend.access import debts
from frontend.config.settings import Settings
from frontend.http import form
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.speech import CONTAINERS, FOREIGN, decoded, encode, say, wave_of

PATH = "/v1/audio/transcriptions"
SPEECH = say("Good morning everybody, this is a test.")
WAV = encode(SPEECH, "wav")
QUIET = encode(np.zeros(1600, np.float32), "wav")


async def _post(client: Client, file: Any = WAV, name: Any = "a.wav", **fields: Any) -> Any:
    form = FormData(default_to_multipart=True)
    for key, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            form.add_field(key, value)
    if file is not None:
        form.add_field("file", io.BytesIO(file), filename=name, content_type="text/plain")
    return await client.post(PATH, data=form)


async def test_json_is_the_text_alone(client: Client) -> None:
    assert await (await _post(client)).json() == {"text": "hello there"}


async def test_text_is_plain_with_a_final_newline(client: Client) -> None:
    response = await _post(client, response_format="text")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert await response.text() == "hello there\n"


async def test_verbose_json_has_every_field(client: Client) -> None:
    answer = await (await _post(client, response_format="verbose_json")).json()
    assert list(answer) == ["task", "language", "duration", "text", "segments"]
    assert set(answer["segments"][0]) == {"id", "start", "end", "text", "avg_logprob", "no_speech_prob"}
    assert abs(answer["duration"] - len(SPEECH) / 16_000) < 0.01


@pytest.mark.parametrize("spelling", ["timestamp_granularities[]", "timestamp_granularities"])
async def test_words_come_when_asked_for(client: Client, spelling: str) -> None:
    file = encode(np.concatenate([np.zeros(48_000, np.float32), SPEECH]), "wav")
    answer = await (await _post(client, file, response_format="verbose_json", **{spelling: ["word", "segment"]})).json()
    first, second = answer["words"]
    assert (first["word"], first["probability"]) == (" hello", 0.75)
    assert (second["word"], second["probability"]) == (" there", 0.5)
    # After three seconds of silence, with less than half of one before the speech.
    assert 2.6 <= first["start"] <= 3.1
    assert second["end"] - first["start"] == pytest.approx(1.0)


async def test_no_words_come_with_segments_alone(client: Client) -> None:
    fields = {"response_format": "verbose_json", "timestamp_granularities[]": "segment"}
    assert "words" not in await (await _post(client, **fields)).json()


@pytest.mark.parametrize("kind", CONTAINERS)
async def test_every_container_is_taken_whatever_it_is_called(client: Client, kind: str) -> None:
    response = await _post(client, encode(SPEECH, kind), name="note.txt")
    assert (await response.json()) == {"text": "hello there"}


async def test_silence_is_empty_and_never_reaches_triton(client: Client, triton: FakeTriton) -> None:
    silence = encode(np.zeros(32_000, np.float32), "wav")
    answer = await (await _post(client, silence, response_format="verbose_json", language="DE")).json()
    assert (answer["text"], answer["segments"], answer["language"]) == ("", [], "de")
    assert triton.calls == []


async def test_noise_without_speech_never_reaches_triton(client: Client, triton: FakeTriton) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 32_000).astype(np.float32)
    assert await (await _post(client, encode(noise, "flac"))).json() == {"text": ""}
    assert triton.calls == []


async def test_parts_of_a_long_file_are_put_together_in_order(client: Client, triton: FakeTriton) -> None:
    gap = np.zeros(16_000, np.float32)
    answer = await (
        await _post(
            client, encode(np.concatenate([SPEECH, gap, SPEECH, gap, SPEECH]), "wav"), response_format="verbose_json"
        )
    ).json()
    assert len(triton.calls) == 3
    assert [segment["id"] for segment in answer["segments"]] == [0, 1, 2]
    starts = [segment["start"] for segment in answer["segments"]]
    assert starts == sorted(starts)
    assert abs(starts[1] - (len(SPEECH) / 16_000 + 1)) < 0.5


async def test_each_window_goes_out_with_its_own_sound_and_comes_back_with_its_own_time(
    client: Client, triton: FakeTriton
) -> None:
    gap = np.zeros(16_000, np.float32)
    file = encode(np.concatenate([gap, SPEECH, gap, say("The second part is another one.")]), "wav")
    answer = await (await _post(client, file, response_format="verbose_json")).json()
    whole = decoded(file).tobytes()
    sounds = [(inputs["audio"][0] * 32768).astype(np.int16).tobytes() for _, inputs in triton.calls]
    assert len(sounds) == 2
    starts = [segment["start"] for segment in answer["segments"]]
    assert [whole.find(sound) / 32_000 for sound in sounds] == pytest.approx(starts, abs=0.01)


async def test_language_prompt_and_temperature_reach_the_model(client: Client, triton: FakeTriton) -> None:
    await _post(client, language="IT", prompt="Grüezi", temperature="0.5", model="stt-1-hd")
    model, inputs = triton.calls[0]
    assert model == "whisper_large_v3"
    assert inputs["language"][0, 0] == b"it"
    assert inputs["prompt"][0, 0].decode() == "Grüezi"
    assert inputs["temperature"][0, 0] == 0.5


@pytest.mark.parametrize("code", ["jv", "jw", "JV"])
async def test_javanese_is_taken_by_both_codes_and_answered_by_one(
    client: Client, triton: FakeTriton, code: str
) -> None:
    answer = await (await _post(client, language=code, response_format="verbose_json")).json()
    assert (triton.calls[0][1]["language"][0, 0], answer["language"]) == (b"jw", "jv")


async def test_javanese_that_is_recognised_is_answered_by_its_iso_code(client: Client, triton: FakeTriton) -> None:
    triton.spoil = lambda arrays: {**arrays, "language": np.array([[b"jw"]], np.object_)}
    assert (await (await _post(client, response_format="verbose_json")).json())["language"] == "jv"


async def test_empty_parameters_are_absent(client: Client) -> None:
    response = await _post(client, language="", prompt="", response_format="", temperature="", model="")
    assert response.status == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stream": "true"}, "stream"),
        ({"model": "whisper-1"}, "model"),
        ({"audio": io.BytesIO(b"RIFF")}, "audio"),
        ({"model": io.BytesIO(b"stt-1")}, "model"),
        ({"language": "xx"}, "language"),
        ({"language": "english"}, "language"),
        ({"response_format": "srt"}, "response_format"),
        ({"temperature": "1.1"}, "temperature"),
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
    response = await _post(client, **fields)
    assert response.status == 400
    assert (await response.json())["error"]["param"] == param


async def test_a_file_under_another_name_is_an_unknown_parameter(client: Client) -> None:
    response = await _post(client, None, audio=io.BytesIO(WAV))
    assert (await response.json())["error"]["message"] == "unknown parameter: audio"


# As curl and HTTP's grammar write them: what stands in quotes is the name's, quotes and backslashes are escaped.
NAMES = [
    b'"note; part 2; final.wav"',
    b'"; name=model"',
    b'"a \\"quoted\\" name; and more.wav"',
    b'"a\\\\b;c.wav"',
    b'"100%22;%3B.wav"',
    '"für; größe; 日本; 👍.wav"'.encode(),
    b'"caf\xe9; b.wav"',
    b'"tab\there.wav"',
    b'"\x7f\x01.wav"',
    b'""',
    b"plain.wav",
]


HEADS = [
    b'form-data; name="file"; filename=%s',
    b'form-data; filename=%s; name="file"',
    b"form-data;\tname=file;\tfilename=%s",
    b"Form-Data;Name=file;FileName=%s;filename*=UTF-8''a%%3b%%20b.wav",
]


async def test_a_file_may_have_any_name_and_no_log_has_it(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for head in [head % name for head in HEADS for name in NAMES]:
        body = b"--x\r\nContent-Disposition: " + head + b"\r\n\r\n" + QUIET + b"\r\n--x--\r\n"
        response = await client.post(PATH, data=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
        assert await response.json() == {"text": ""}, head
    assert ".wav" not in caplog.text


async def test_a_missing_file_is_400(client: Client) -> None:
    response = await _post(client, None)
    assert response.status == 400
    assert (await response.json())["error"]["param"] == "file"


async def test_an_empty_file_is_400(client: Client) -> None:
    assert (await _post(client, b"")).status == 400


async def test_two_files_are_400(client: Client) -> None:
    form = FormData()
    form.add_field("file", WAV, filename="a.wav")
    form.add_field("file", WAV, filename="b.wav")
    assert (await client.post(PATH, data=form)).status == 400


async def test_a_foreign_file_is_415_and_says_what_it_is(client: Client) -> None:
    response = await _post(client, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 1000, name="song.wav")
    assert response.status == 415
    error = (await response.json())["error"]
    assert error["type"] == "unsupported_media_type"
    assert "image/png" in error["message"]
    assert "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP" in error["message"]


@pytest.mark.parametrize("kind", [*FOREIGN, "wav-gsm", "wav-odd"])
async def test_what_the_contract_does_not_list_is_415_though_it_could_be_read(
    client: Client, triton: FakeTriton, kind: str
) -> None:
    numbered = {"wav-gsm": 0x31, "wav-odd": 0x9999}
    response = await _post(client, wave_of(numbered[kind]) if kind in numbered else encode(SPEECH, kind))
    assert (response.status, (await response.json())["error"]["type"]) == (415, "unsupported_media_type")
    assert triton.calls == []


async def test_a_damaged_file_is_400(client: Client) -> None:
    response = await _post(client, encode(SPEECH, "flac")[:300])
    assert response.status == 400
    assert (await response.json())["error"]["message"] == "the audio could not be decoded"


@pytest.mark.parametrize(("extra", "status"), [(0, 200), (1, 413)])
async def test_25_mb_of_file_pass_and_a_byte_more_does_not(client: Client, extra: int, status: int) -> None:
    padded = WAV + b"\0" * (25 * 1024 * 1024 - len(WAV) + extra)
    assert (await _post(client, padded)).status == status


async def test_a_malformed_form_is_400(client: Client) -> None:
    response = await client.post(
        PATH, data=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert response.status == 400


@pytest.mark.parametrize("error", [AssertionError(), KeyError("a"), IndexError(), RuntimeError(), ValueError("a")])
async def test_a_fault_of_ours_in_reading_a_form_is_500(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(form._Reader, "take", fail)
    assert (await _post(client)).status == 500


async def test_a_prompt_of_1024_code_points_is_taken(client: Client) -> None:
    assert (await _post(client, prompt="👍" * 1024)).status == 200


@pytest.mark.parametrize("temperature", ["0", "1", "1.0", "0.5", ".5", "5e-1"])
async def test_both_ends_of_the_temperature_are_taken(client: Client, temperature: str) -> None:
    assert (await _post(client, temperature=temperature)).status == 200


async def test_silence_has_an_empty_list_of_words(client: Client) -> None:
    silence = encode(np.zeros(32_000, np.float32), "wav")
    fields = {"response_format": "verbose_json", "timestamp_granularities[]": "word"}
    assert (await (await _post(client, silence, **fields)).json())["words"] == []


@pytest.mark.parametrize("first", [True, False])
async def test_parts_come_in_any_order(client: Client, triton: FakeTriton, first: bool) -> None:
    form = FormData()
    if not first:
        form.add_field("language", "de")
    form.add_field("file", io.BytesIO(WAV), filename="a.wav")
    if first:
        form.add_field("language", "de")
    assert (await client.post(PATH, data=form)).status == 200
    assert triton.calls[0][1]["language"][0, 0] == b"de"


async def test_who_sends_much_that_is_no_speech_is_slowed_and_others_are_not(
    settings: Settings, mobile: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debts, "_PATIENCE_SECONDS", 0.0)
    noise = encode(np.random.default_rng(0).uniform(-0.3, 0.3, 120 * 16_000).astype(np.float32), "flac")
    async with running(dataclasses.replace(settings, unpaid_seconds=0.1), FakeTriton()) as client:
        assert await (await _post(client, noise)).json() == {"text": ""}
        refused = await _post(client)
        error = (await refused.json())["error"]
        form = {"audio": io.BytesIO(WAV)}
        other = await client.post("/api/v1/audio/transcribe", data=form, headers=mobile)
    assert (refused.status, error["type"]) == (429, "rate_limit_exceeded")
    assert int(refused.headers["Retry-After"]) > 0
    assert other.status == 200
