"""POST /v1/audio/transcriptions, /v1/audio/translations and /api/v1/audio/transcribe."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, MEMORY_RESERVATION, SETTINGS, THREADS, TRANSCRIPTION, UNBILLED_WORK
from frontend.catalogue.models import Served
from frontend.extensions.subtitles.rendering import FORMATS
from frontend.http.answers import deliver
from frontend.http.form import Form, Shape, read_form
from frontend.http.rendering import EVENTS, JSON, render_json
from frontend.operations.transcription import protocol
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.operations.transcription.rendering import render_events, render_mobile, render_openai

_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_Parses = Callable[[Form, Served], TranscriptionRequest]
_Renders = Callable[[Transcription, TranscriptionRequest], dict[str, Any] | str]


async def _transcript(request: web.Request, shape: Shape, parses: _Parses, renders: _Renders) -> web.StreamResponse:
    app, context, memory = request.app, request[CONTEXT], request[MEMORY_RESERVATION]
    pipeline, reserve = app[TRANSCRIPTION], request[BILLING].reserve
    async with AsyncExitStack() as streaming:
        async with app[UNBILLED_WORK].paced(context.key):
            form = await read_form(request, app[SETTINGS], memory, shape)
            parsed = parses(form, app[SETTINGS].served)
            head: Mapping[str, str] = EVENTS
            if parsed.stream:
                stream = pipeline.stream(parsed, context, reserve, memory)
                first, others, bill = await streaming.enter_async_context(stream)
                body: bytes | AsyncGenerator[bytes, None] = render_events(first, others)
            else:
                answer, bill = await pipeline.run(parsed, context, reserve, memory)
                if subtitles := FORMATS.get(parsed.response_format):
                    head = {"Content-Type": subtitles[0]}
                    # Hours of words would block the event loop.
                    body = (await app[THREADS].run(context, subtitles[1], answer)).encode()
                else:
                    head, body = _rendered(renders(answer, parsed))
        return await deliver(request, head, body, bill)


def _rendered(answer: dict[str, Any] | str) -> tuple[Mapping[str, str], bytes]:
    return (_TEXT, answer.encode()) if isinstance(answer, str) else (JSON, render_json(answer))


async def transcribe(request: web.Request) -> web.StreamResponse:
    shape = protocol.openai_form(request.app[SETTINGS].served)
    return await _transcript(request, shape, protocol.parse_openai, render_openai)


async def translate(request: web.Request) -> web.StreamResponse:
    """Transcription into English text."""
    shape = protocol.translation_form(request.app[SETTINGS].served)
    return await _transcript(request, shape, protocol.parse_translation, render_openai)


async def transcribe_mobile(request: web.Request) -> web.StreamResponse:
    """Transcription for the mobile API."""
    return await _transcript(request, protocol.MOBILE_FORM, protocol.parse_mobile, render_mobile)


def routes(served: Served) -> list[web.RouteDef]:
    return [
        web.post("/v1/audio/transcriptions", transcribe),
        web.post("/api/v1/audio/transcribe", transcribe_mobile),
        *([web.post("/v1/audio/translations", translate)] if served.translators() else []),
    ]
