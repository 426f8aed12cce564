"""Transcripts in SRT and WebVTT."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from frontend.app_keys import CONTEXT, THREADS, TRANSCRIPTION
from frontend.catalogue.extensions import SUBTITLES as NAME
from frontend.config.settings import Settings
from frontend.extensions.subtitles.rendering import FORMATS
from frontend.http.schemas import OpenApiFragment
from frontend.operations.transcription.handler import OTHER_FORMS, Answer, transcript
from frontend.operations.transcription.openapi import TEXT
from frontend.operations.transcription.protocol import TranscriptionRequest
from frontend.rings import Ring

# The paths whose answers may be subtitles; not every deployment has translations.
_PATHS = ("/v1/audio/transcriptions", "/v1/audio/translations")


@asynccontextmanager
async def _answer(request: web.Request, parsed: TranscriptionRequest) -> AsyncIterator[Answer]:
    transcription = await transcript(request, parsed)
    kind, write = FORMATS[parsed.response_format]
    # Hours of words would block the event loop.
    app = request.app
    body = await app[THREADS].run(request[CONTEXT], write, transcription, app[TRANSCRIPTION].reader)
    yield {"Content-Type": kind}, body.encode()


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    app[OTHER_FORMS].update(dict.fromkeys(FORMATS, _answer))


def _describe(settings: Settings) -> OpenApiFragment:
    content = {kind.partition(";")[0]: TEXT for kind, _ in FORMATS.values()}
    return OpenApiFragment(settings.served, more=dict.fromkeys(_PATHS, content))


SUBTITLES = Ring(is_on=lambda settings: NAME in settings.served.extensions, start=_start, describe=_describe)
