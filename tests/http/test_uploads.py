"""Uploaded files: their names, types and sizes."""

import io
import logging

import numpy as np
import pytest
from aiohttp import FormData

from frontend.access import throttles
from frontend.config.settings import Settings
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.http.calls import refusal
from tests.speech import CONTAINERS, FOREIGN, TRANSCRIBE, encode, say, transcribe, wave_of

SPEECH = say("Good morning everybody, this is a test.")
WAV = encode(SPEECH, "wav")

QUIET = encode(np.zeros(1600, np.float32), "wav")


@pytest.mark.parametrize("kind", CONTAINERS)
async def test_every_container_is_accepted_under_any_file_name(client: Client, kind: str) -> None:
    response = await transcribe(client, encode(SPEECH, kind), name="note.txt")
    assert (await response.json()) == {"text": "hello there"}


async def test_a_file_under_another_name_is_an_unknown_parameter(client: Client) -> None:
    response = await transcribe(client, None, audio=io.BytesIO(WAV))
    assert (await response.json())["error"]["message"] == "unknown parameter: audio"


# As curl and HTTP's grammar write them: a name in quotes, with quotes and backslashes escaped.
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
        response = await client.post(TRANSCRIBE, data=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
        assert await response.json() == {"text": ""}, head
    assert ".wav" not in caplog.text


@pytest.mark.parametrize("file", [None, b""], ids=["none", "empty"])
async def test_a_missing_file_is_400(client: Client, file: bytes | None) -> None:
    assert await refusal(await transcribe(client, file)) == (400, "file")


async def test_two_files_are_400(client: Client) -> None:
    form = FormData()
    form.add_field("file", WAV, filename="a.wav")
    form.add_field("file", WAV, filename="b.wav")
    assert (await client.post(TRANSCRIBE, data=form)).status == 400


async def test_a_foreign_file_is_415_and_says_what_it_is(client: Client) -> None:
    response = await transcribe(client, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 1000, name="song.wav")
    assert response.status == 415
    error = (await response.json())["error"]
    assert error["type"] == "unsupported_media_type"
    assert "image/png" in error["message"]
    assert "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP" in error["message"]


@pytest.mark.parametrize("kind", [*FOREIGN, "wav-gsm", "wav-odd"])
async def test_a_format_that_the_contract_does_not_list_is_415(client: Client, triton: FakeTriton, kind: str) -> None:
    numbered = {"wav-gsm": 0x31, "wav-odd": 0x9999}
    response = await transcribe(client, wave_of(numbered[kind]) if kind in numbered else encode(SPEECH, kind))
    assert (response.status, (await response.json())["error"]["type"]) == (415, "unsupported_media_type")
    assert triton.calls == []


async def test_a_damaged_file_is_400(client: Client) -> None:
    response = await transcribe(client, encode(SPEECH, "flac")[:300])
    assert response.status == 400
    assert (await response.json())["error"]["message"] == "the audio could not be decoded"


@pytest.mark.parametrize(("extra", "status"), [(0, 200), (1, 413)])
async def test_25_mb_of_file_pass_and_a_byte_more_does_not(client: Client, extra: int, status: int) -> None:
    padded = WAV + b"\0" * (25 * 1024 * 1024 - len(WAV) + extra)
    assert (await transcribe(client, padded)).status == status


@pytest.mark.settings(unpaid_seconds=0.1)
async def test_a_key_that_sends_much_audio_without_speech_is_slowed_and_others_are_not(
    client: Client, mobile: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttles, "_PATIENCE_SECONDS", 0.0)
    noise = encode(np.random.default_rng(0).uniform(-0.3, 0.3, 120 * 16_000).astype(np.float32), "flac")
    assert await (await transcribe(client, noise)).json() == {"text": ""}
    refused = await transcribe(client, WAV)
    error = (await refused.json())["error"]
    other = await client.post("/api/v1/audio/transcribe", data={"audio": io.BytesIO(WAV)}, headers=mobile)
    assert (refused.status, error["type"]) == (429, "rate_limit_exceeded")
    assert int(refused.headers["Retry-After"]) > 0
    assert other.status == 200


async def test_nothing_is_decoded_for_a_model_that_no_triton_has(settings: Settings, triton: FakeTriton) -> None:
    triton.up = False
    async with running(settings, triton) as client:
        # Silence never reaches Triton; if it were decoded, the answer would be 200.
        assert (await transcribe(client, QUIET)).status == 502
