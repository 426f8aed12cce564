"""POST /v1/audio/transcriptions and /api/v1/audio/transcribe."""

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, MEMORY_RESERVATION, SETTINGS, TRANSCRIPTION, UNBILLED_WORK
from frontend.catalogue.models import Served
from frontend.http.answers import deliver
from frontend.http.form import Form, Shape, read_form
from frontend.http.rendering import JSON, render_json
from frontend.operations.transcription import protocol
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.usage.bill import Bill

_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_Parses = Callable[[Form, Served], TranscriptionRequest]
_Renders = Callable[[Transcription, TranscriptionRequest], dict[str, Any] | str]


async def _transcript(
    request: web.Request, shape: Shape, parses: _Parses, renders: _Renders
) -> tuple[Mapping[str, str], bytes, Bill | None]:
    app, context, memory = request.app, request[CONTEXT], request[MEMORY_RESERVATION]
    async with app[UNBILLED_WORK].paced(context.key):
        form = await read_form(request, app[SETTINGS], memory, shape)
        parsed = parses(form, app[SETTINGS].served)
        answer, bill = await app[TRANSCRIPTION].run(parsed, context, request[BILLING].reserve, memory)
    rendered = renders(answer, parsed)
    return (_TEXT, rendered.encode(), bill) if isinstance(rendered, str) else (JSON, render_json(rendered), bill)


async def transcribe(request: web.Request) -> web.StreamResponse:
    shape = protocol.openai_form(request.app[SETTINGS].served)
    return await deliver(request, *await _transcript(request, shape, protocol.parse_openai, protocol.render_openai))


async def transcribe_mobile(request: web.Request) -> web.StreamResponse:
    """Transcription for the mobile API."""
    shape = protocol.MOBILE_FORM
    return await deliver(request, *await _transcript(request, shape, protocol.parse_mobile, protocol.render_mobile))


ROUTES = [web.post("/v1/audio/transcriptions", transcribe), web.post("/api/v1/audio/transcribe", transcribe_mobile)]
