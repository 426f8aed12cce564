"""POST /v1/audio/speech and /api/v1/audio/synthesize, GET /api/v1/audio/voices."""

from aiohttp import web

from frontend.body import read_json
from frontend.keys import BILL, SETTINGS, SPEECH, TURN
from frontend.operations.speech import protocol
from frontend.render import json_response


async def _speak(request: web.Request, parsed: protocol.SpeechRequest) -> web.Response:
    audio = await request.app[SPEECH].run(parsed, request[TURN], request[BILL].reserve)
    return web.Response(body=audio, content_type=protocol.FORMATS[parsed.response_format])


async def speak(request: web.Request) -> web.Response:
    """Text in, an audio file out."""
    return await _speak(request, protocol.parse_openai(await read_json(request, request.app[SETTINGS])))


async def speak_mobile(request: web.Request) -> web.Response:
    """The same, in the words of the mobile API."""
    return await _speak(request, protocol.parse_mobile(await read_json(request, request.app[SETTINGS])))


async def voices(request: web.Request) -> web.Response:
    """The voices there are, and the default one of each language."""
    return json_response(protocol.render_voices())


ROUTES = [
    web.post("/v1/audio/speech", speak),
    web.post("/api/v1/audio/synthesize", speak_mobile),
    web.get("/api/v1/audio/voices", voices),
]
