"""POST /v1/audio/speech and /api/v1/audio/synthesize, GET /api/v1/audio/voices."""

from aiohttp import web

from frontend.app_keys import BILL, HOLDING, JSON_BODIES, SETTINGS, SPEECH, TURN
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.json import Converts
from frontend.http.rendering import json_response
from frontend.operations.speech import protocol


async def _speak(request: web.Request, converts: Converts[protocol.SpeechRequest]) -> web.Response:
    turn, holding = request[TURN], request[HOLDING]
    parsed = await request.app[JSON_BODIES].read(request, holding, turn, converts)
    audio = await request.app[SPEECH].run(parsed, turn, request[BILL].reserve, holding)
    return web.Response(body=audio, content_type=AUDIO_FORMATS[parsed.response_format])


async def speak(request: web.Request) -> web.Response:
    """Text in, an audio file out."""
    return await _speak(request, protocol.parse_openai)


async def speak_mobile(request: web.Request) -> web.Response:
    """The same, in the words of the mobile API."""
    return await _speak(request, protocol.parse_mobile)


async def voices(request: web.Request) -> web.Response:
    """The voices there are, and the default one of each language."""
    return json_response(protocol.render_voices(request.app[SETTINGS].served))


ROUTES = [
    web.post("/v1/audio/speech", speak),
    web.post("/api/v1/audio/synthesize", speak_mobile),
    web.get("/api/v1/audio/voices", voices),
]
