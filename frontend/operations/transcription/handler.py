"""POST /v1/audio/transcriptions and /api/v1/audio/transcribe."""

from aiohttp import web

from frontend.body import read_form
from frontend.keys import BILL, SETTINGS, TRANSCRIPTION, TURN
from frontend.operations.transcription import protocol
from frontend.render import json_response


async def transcribe(request: web.Request) -> web.Response:
    """A file in, its text out."""
    form = await read_form(request, request.app[SETTINGS], protocol.OPENAI_FILE, protocol.LARGEST_FILE)
    parsed = protocol.parse_openai(form)
    answer = await request.app[TRANSCRIPTION].run(parsed, request[TURN], request[BILL].reserve)
    rendered = protocol.render_openai(answer, parsed.response_format)
    if isinstance(rendered, str):
        return web.Response(text=rendered, content_type="text/plain", charset="utf-8")
    return json_response(rendered)


async def transcribe_mobile(request: web.Request) -> web.Response:
    """The same, in the words of the mobile API."""
    form = await read_form(request, request.app[SETTINGS], protocol.MOBILE_FILE, protocol.LARGEST_FILE)
    parsed, with_segments = protocol.parse_mobile(form)
    answer = await request.app[TRANSCRIPTION].run(parsed, request[TURN], request[BILL].reserve)
    return json_response(protocol.render_mobile(answer, parsed, with_segments))


ROUTES = [
    web.post("/v1/audio/transcriptions", transcribe),
    web.post("/api/v1/audio/transcribe", transcribe_mobile),
]
