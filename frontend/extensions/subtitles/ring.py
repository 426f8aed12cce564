"""Transcripts in SRT and WebVTT."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from frontend.app_keys import CONTEXT, THREADS
from frontend.catalogue.extensions import SUBTITLES as NAME
from frontend.extensions.subtitles.rendering import FORMATS
from frontend.operations.transcription.handler import OTHER_FORMS, Answer, transcript
from frontend.operations.transcription.protocol import TranscriptionRequest
from frontend.rings import Ring


@asynccontextmanager
async def _answer(request: web.Request, parsed: TranscriptionRequest) -> AsyncIterator[Answer]:
    transcription = await transcript(request, parsed)
    kind, write = FORMATS[parsed.response_format]
    # Hours of words would block the event loop.
    body = await request.app[THREADS].run(request[CONTEXT], write, transcription)
    yield {"Content-Type": kind}, body.encode()


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    app[OTHER_FORMS].update(dict.fromkeys(FORMATS, _answer))


SUBTITLES = Ring(is_on=lambda settings: NAME in settings.served.extensions, start=_start)
