"""POST /v1/audio/transcriptions and /api/v1/audio/transcribe."""

from collections.abc import Mapping

from aiohttp import web

from frontend.app_keys import BILLING, HOLDING, SETTINGS, THREADS, TRANSCRIPTION, TURN, UNPAID
from frontend.http.answers import deliver
from frontend.http.form import Form, Shape, read_form
from frontend.http.rendering import JSON, render_json
from frontend.operations.transcription import protocol
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.usage.bill import Bill

_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_Answer = tuple[Mapping[str, str], bytes, Bill | None]


async def _form(request: web.Request, shape: Shape) -> Form:
    return await read_form(request, request.app[SETTINGS], request[HOLDING], shape)


async def _run(request: web.Request, parsed: TranscriptionRequest) -> tuple[Transcription, Bill | None]:
    pipeline = request.app[TRANSCRIPTION]
    return await pipeline.run(parsed, request[TURN], request[BILLING].reserve, request[HOLDING])


async def _transcript(request: web.Request) -> _Answer:
    async with request.app[UNPAID].paced(request[TURN].key):
        served = request.app[SETTINGS].served
        form = await _form(request, protocol.openai_form(served))
        parsed = protocol.parse_openai(form, served)
        answer, bill = await _run(request, parsed)
    threads, turn = request.app[THREADS], request[TURN]
    rendered = await threads.run(turn, protocol.render_openai, answer, parsed.response_format)
    return (_TEXT, rendered.encode(), bill) if isinstance(rendered, str) else (JSON, render_json(rendered), bill)


async def _transcript_mobile(request: web.Request) -> _Answer:
    async with request.app[UNPAID].paced(request[TURN].key):
        form = await _form(request, protocol.MOBILE_FORM)
        parsed, with_segments = protocol.parse_mobile(form, request.app[SETTINGS].served)
        answer, bill = await _run(request, parsed)
    threads, turn = request.app[THREADS], request[TURN]
    return JSON, render_json(await threads.run(turn, protocol.render_mobile, answer, parsed, with_segments)), bill


async def transcribe(request: web.Request) -> web.StreamResponse:
    """A file in, its text out."""
    return await deliver(request, *await _transcript(request))


async def transcribe_mobile(request: web.Request) -> web.StreamResponse:
    """The same, in the words of the mobile API."""
    return await deliver(request, *await _transcript_mobile(request))


ROUTES = [web.post("/v1/audio/transcriptions", transcribe), web.post("/api/v1/audio/transcribe", transcribe_mobile)]
