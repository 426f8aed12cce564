"""POST /v1/audio/transcriptions."""

from aiohttp import web

from frontend.body import read_form
from frontend.keys import SETTINGS, TRANSCRIPTION
from frontend.operations.transcription import protocol
from frontend.render import json_response


async def transcribe(request: web.Request) -> web.Response:
    """A file in, its text out."""
    form = await read_form(request, request.app[SETTINGS], protocol.FILE_FIELD, protocol.LARGEST_FILE)
    parsed = protocol.parse_openai(form)
    answer = await request.app[TRANSCRIPTION].run(parsed)
    rendered = protocol.render_openai(answer, parsed.response_format)
    if isinstance(rendered, str):
        return web.Response(text=rendered, content_type="text/plain", charset="utf-8")
    return json_response(rendered)


ROUTES = [web.post("/v1/audio/transcriptions", transcribe)]
