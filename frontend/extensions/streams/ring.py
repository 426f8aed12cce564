"""Answers that are sent while they are made."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web

from frontend.catalogue.extensions import SPEECH_STREAMING, TRANSCRIPT_STREAMING
from frontend.config.settings import Settings
from frontend.extensions.streams import speech, transcripts
from frontend.http.schemas import OpenApiFragment
from frontend.operations.speech.handler import STREAMS
from frontend.operations.transcription.handler import EVENTS, OTHER_FORMS
from frontend.operations.transcription.openapi import TEXT
from frontend.parameters.kinds import Schema
from frontend.parameters.speech import STREAM_FORMATS
from frontend.rings import Ring

_SPEECH_EVENTS = {
    "schema": {"type": "string"},
    "example": 'data: {"type":"speech.audio.delta","audio":"UklGRv"}\n\n',
}


def _sends(path: str, events: Schema) -> Callable[[Settings], OpenApiFragment]:
    return lambda settings: OpenApiFragment(settings.served, more={path: {"text/event-stream": events}})


async def _start_speech(app: web.Application, closing: AsyncExitStack) -> None:
    app[STREAMS].update(dict.fromkeys(STREAM_FORMATS, speech.answer))


async def _start_transcripts(app: web.Application, closing: AsyncExitStack) -> None:
    app[OTHER_FORMS][EVENTS] = transcripts.answer


SPEECH = Ring(
    is_on=lambda settings: SPEECH_STREAMING in settings.served.extensions,
    start=_start_speech,
    describe=_sends("/v1/audio/speech", _SPEECH_EVENTS),
)
TRANSCRIPTS = Ring(
    is_on=lambda settings: TRANSCRIPT_STREAMING in settings.served.extensions,
    start=_start_transcripts,
    describe=_sends("/v1/audio/transcriptions", TEXT),
)
