"""Kinds of audio that the extension more_audio adds."""

import pytest

from tests.conftest import Client
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "more_audio"}


@pytest.mark.parametrize("kind", ["mov", "aac"])
async def test_quicktime_and_aac_are_transcribed(client: Client, kind: str) -> None:
    answer = await transcribe(client, encode(say("one two three"), kind))
    assert (answer.status, (await answer.json())["text"]) == (200, "hello there")


async def test_other_kinds_are_415_and_the_error_names_what_is_taken(client: Client) -> None:
    answer = await transcribe(client, encode(say("one two three"), "mkv"))
    assert answer.status == 415
    assert (await answer.json())["error"]["message"].endswith("FLAC, 3GPP, QuickTime, AAC")
