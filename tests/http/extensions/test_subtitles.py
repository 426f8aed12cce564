"""Transcripts as subtitles."""

import pytest

from tests.conftest import Client
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "subtitles"}
WAV = encode(say("Good morning everybody, this is a test."), "wav")


@pytest.mark.parametrize(
    ("response_format", "kind", "head"),
    [
        ("srt", "application/x-subrip; charset=utf-8", "1\n00:00:0"),
        ("vtt", "text/vtt; charset=utf-8", "WEBVTT\n\n00:00:0"),
    ],
)
async def test_a_transcript_can_be_subtitles(client: Client, response_format: str, kind: str, head: str) -> None:
    response = await transcribe(client, WAV, response_format=response_format)
    text = await response.text()
    assert response.headers["Content-Type"] == kind
    assert text.startswith(head)
    assert text.rstrip().endswith("\nhello there")
