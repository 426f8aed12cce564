import io
import wave
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, Client
from tests.fakes import FakeTriton
from tests.http.calls import SPEAK, contract_only, refusal
from tests.speech import decoded

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _post(client: Client, **body: Any) -> Any:
    return await client.post(SPEAK, json={"input": "Hello there.", "voice": "amy", **body})


async def test_wav_is_the_default(client: Client) -> None:
    response = await _post(client)
    assert response.headers["Content-Type"] == "audio/wav"
    with wave.open(io.BytesIO(await response.read())) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)


async def test_mp3_has_its_type_and_can_be_decoded(client: Client) -> None:
    response = await _post(client, response_format="mp3")
    assert response.headers["Content-Type"] == "audio/mpeg"
    assert len(decoded(await response.read())) > 0


async def test_an_answer_has_a_content_length(client: Client) -> None:
    response = await _post(client)
    assert int(response.headers["Content-Length"]) == len(await response.read())


@pytest.mark.parametrize(("language", "voice"), [("de", "thorsten"), ("FR", "siwis"), ("rm", "paola")])
async def test_a_language_has_a_default_voice(client: Client, triton: FakeTriton, language: str, voice: str) -> None:
    await _post(client, voice=None, language=language)
    model, inputs = triton.calls[0]
    styles = np.load(ROOT / "model_repository" / "kokoro" / "1" / f"{voice}.npy")
    assert (model, inputs["style"].tolist() in styles.tolist()) == ("kokoro", True)


async def test_a_voice_wins_over_a_language(client: Client, triton: FakeTriton) -> None:
    await _post(client, voice="ryan", language="de")
    assert triton.calls[0][0] == "piper_ryan"


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"input": ""}, 400, "input"),
        ({"input": " \n "}, 400, "input"),
        ({"input": "..."}, 400, "input"),
        ({"input": "x" * 5001}, 413, "input"),
        ({"voice": "Amy"}, 400, "voice"),
        ({"voice": None}, 400, "voice"),
        ({"voice": None, "language": "es"}, 400, "language"),
        contract_only({"response_format": "opus"}, 400, "response_format"),
        ({"speed": 3}, 400, "speed"),
        ({"speed": "fast"}, 400, "speed"),
        ({"speed": True}, 400, "speed"),
        ({"model": "tts-2"}, 400, "model"),
        contract_only({"stream": False}, 400, "stream"),
    ],
)
async def test_a_bad_parameter_is_named(client: Client, body: dict[str, Any], status: int, param: str) -> None:
    assert await refusal(await _post(client, **body)) == (status, param)


async def test_5000_code_points_are_taken(client: Client) -> None:
    assert (await _post(client, input="hello " * 833 + "a👍")).status == 200


async def test_an_unknown_voice_lists_the_six(client: Client) -> None:
    message = (await (await _post(client, voice="bob")).json())["error"]["message"]
    assert all(voice in message for voice in ("paola", "riccardo", "amy", "ryan", "thorsten", "siwis"))


@pytest.mark.parametrize("speed", [0.5, 1, 2.0])
async def test_a_speed_is_accepted_and_ignored(client: Client, speed: float) -> None:
    assert await (await _post(client, speed=speed)).read() == await (await _post(client)).read()
