"""Answers that are sent while they are made."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.catalogue.extensions import SPEECH_STREAMING, TRANSCRIPT_STREAMING
from frontend.extensions.streams import speech, transcripts
from frontend.operations.speech.handler import STREAMS
from frontend.operations.transcription.handler import EVENTS, OTHER_FORMS
from frontend.parameters.speech import STREAM_FORMATS
from frontend.rings import Ring


async def _start_speech(app: web.Application, closing: AsyncExitStack) -> None:
    app[STREAMS].update(dict.fromkeys(STREAM_FORMATS, speech.answer))


async def _start_transcripts(app: web.Application, closing: AsyncExitStack) -> None:
    app[OTHER_FORMS][EVENTS] = transcripts.answer


SPEECH = Ring(is_on=lambda settings: SPEECH_STREAMING in settings.served.extensions, start=_start_speech)
TRANSCRIPTS = Ring(is_on=lambda settings: TRANSCRIPT_STREAMING in settings.served.extensions, start=_start_transcripts)
