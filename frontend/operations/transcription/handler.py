"""POST /v1/audio/transcriptions and /api/v1/audio/transcribe."""

from aiohttp import web

from frontend.app_keys import BILL, HOLDING, SETTINGS, THREADS, TRANSCRIPTION, TURN, UNPAID
from frontend.http.form import Form, Shape, read_form
from frontend.http.rendering import json_response
from frontend.operations.transcription import protocol
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest


async def _form(request: web.Request, shape: Shape) -> Form:
    return await read_form(request, request.app[SETTINGS], request[HOLDING], shape)


async def _run(request: web.Request, parsed: TranscriptionRequest) -> Transcription:
    pipeline = request.app[TRANSCRIPTION]
    return await pipeline.run(parsed, request[TURN], request[BILL].reserve, request[HOLDING])


async def transcribe(request: web.Request) -> web.Response:
    """A file in, its text out."""
    async with request.app[UNPAID].paced(request[TURN].key):
        parsed = protocol.parse_openai(await _form(request, protocol.OPENAI_FORM), request.app[SETTINGS].served)
        answer = await _run(request, parsed)
    threads, turn = request.app[THREADS], request[TURN]
    rendered = await threads.run(turn, protocol.render_openai, answer, parsed.response_format)
    if isinstance(rendered, str):
        return web.Response(text=rendered, content_type="text/plain", charset="utf-8")
    return json_response(rendered)


async def transcribe_mobile(request: web.Request) -> web.Response:
    """The same, in the words of the mobile API."""
    async with request.app[UNPAID].paced(request[TURN].key):
        form = await _form(request, protocol.MOBILE_FORM)
        parsed, with_segments = protocol.parse_mobile(form, request.app[SETTINGS].served)
        answer = await _run(request, parsed)
    threads, turn = request.app[THREADS], request[TURN]
    return json_response(await threads.run(turn, protocol.render_mobile, answer, parsed, with_segments))


ROUTES = [
    web.post("/v1/audio/transcriptions", transcribe),
    web.post("/api/v1/audio/transcribe", transcribe_mobile),
]
