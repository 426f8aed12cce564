"""POST /v1/audio/transcriptions and /api/v1/audio/transcribe."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, MEMORY_RESERVATION, SETTINGS, TRANSCRIPTION, UNBILLED_WORK
from frontend.catalogue.models import Served
from frontend.http.answers import deliver
from frontend.http.form import Form, Shape, read_form
from frontend.http.rendering import JSON, render_json
from frontend.operations.transcription import protocol
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.operations.transcription.rendering import render_mobile, render_openai
from frontend.parameters.transcription import MOBILE, PARAMETERS

_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
Parses = Callable[[Form, Served], TranscriptionRequest]
_Renders = Callable[[Transcription, TranscriptionRequest], Any]
# An answer: its head and its body.
Answer = tuple[Mapping[str, str], bytes | AsyncGenerator[bytes, None]]
# Works within a block, in which the answer is delivered.
Answers = Callable[[web.Request, TranscriptionRequest], AbstractAsyncContextManager[Answer]]
# What answers in the forms that the core does not have, by ``response_format``, and as events.
OTHER_FORMS: web.AppKey[dict[str, Answers]] = web.AppKey("forms of transcripts")
EVENTS = "events"


async def answer(request: web.Request, shape: Shape, parses: Parses, renders: _Renders) -> web.StreamResponse:
    """Transcribe the file of the form, and deliver the transcript in the form that it asks for."""
    app = request.app
    async with AsyncExitStack() as working:
        async with app[UNBILLED_WORK].paced(request[CONTEXT].key):
            form = await read_form(request, app[SETTINGS], request[MEMORY_RESERVATION], shape)
            parsed = parses(form, app[SETTINGS].served)
            name = EVENTS if parsed.stream else parsed.response_format
            answers = app[OTHER_FORMS].get(name) or partial(_whole, renders)
            head, body = await working.enter_async_context(answers(request, parsed))
        return await deliver(request, head, body)


async def transcript(request: web.Request, parsed: TranscriptionRequest) -> Transcription:
    memory = request[MEMORY_RESERVATION]
    return await request.app[TRANSCRIPTION].run(parsed, request[CONTEXT], request[BILLING].reserve, memory)


@asynccontextmanager
async def _whole(renders: _Renders, request: web.Request, parsed: TranscriptionRequest) -> AsyncIterator[Answer]:
    transcription = await transcript(request, parsed)
    rendered = renders(transcription, parsed)
    yield (_TEXT, rendered.encode()) if isinstance(rendered, str) else (JSON, render_json(rendered))


async def transcribe(request: web.Request) -> web.StreamResponse:
    shape = Shape.of(PARAMETERS, request.app[SETTINGS].served)
    return await answer(request, shape, protocol.parse_openai, render_openai)


async def transcribe_mobile(request: web.Request) -> web.StreamResponse:
    """Transcription for the mobile API."""
    shape = Shape.of(MOBILE, request.app[SETTINGS].served.contract)
    return await answer(request, shape, protocol.parse_mobile, render_mobile)


ROUTES = [web.post("/v1/audio/transcriptions", transcribe), web.post("/api/v1/audio/transcribe", transcribe_mobile)]
