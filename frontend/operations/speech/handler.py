"""POST /v1/audio/speech."""

from aiohttp import web

from frontend.body import read_json
from frontend.keys import SETTINGS, SPEECH
from frontend.operations.speech import protocol


async def speak(request: web.Request) -> web.Response:
    """Text in, an audio file out."""
    parsed = protocol.parse_openai(await read_json(request, request.app[SETTINGS]))
    audio = await request.app[SPEECH].run(parsed)
    return web.Response(body=audio, content_type=protocol.FORMATS[parsed.response_format])


ROUTES = [web.post("/v1/audio/speech", speak)]
