"""POST /v1/audio/speech and /api/v1/audio/synthesize, and the list of voices."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, SETTINGS, SPEECH, UNBILLED_WORK
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import json_response
from frontend.operations.speech import protocol
from frontend.operations.speech.protocol import SpeechRequest

# Delivers what has been made.
Delivers = Callable[[], Awaitable[web.StreamResponse]]
# What answers in each ``stream_format``.
STREAMS: web.AppKey[dict[str, Callable[[web.Request, SpeechRequest], Awaitable[Delivers]]]] = web.AppKey("streams")


async def _speak(request: web.Request, parses: Converts[SpeechRequest]) -> web.StreamResponse:
    app, context = request.app, request[CONTEXT]
    async with app[UNBILLED_WORK].paced(context.key):
        parsed = await app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, parses)
        delivers = await app[STREAMS].get(parsed.stream_format, _whole)(request, parsed)
    return await delivers()


async def _whole(request: web.Request, parsed: SpeechRequest) -> Delivers:
    app, memory = request.app, request[MEMORY_RESERVATION]
    audio = await app[SPEECH].run(parsed, request[CONTEXT], request[BILLING].reserve, memory)
    head = {"Content-Type": app[SETTINGS].served.audio_formats[parsed.response_format]}
    return lambda: deliver(request, head, audio)


async def speak(request: web.Request) -> web.StreamResponse:
    return await _speak(request, protocol.parse_openai)


async def speak_mobile(request: web.Request) -> web.StreamResponse:
    """Speech for the mobile API."""
    return await _speak(request, protocol.parse_mobile)


async def voices(request: web.Request) -> web.Response:
    """The voices, and each language's default."""
    return json_response(protocol.render_voices(request.app[SETTINGS].served))


ROUTES = [
    web.post("/v1/audio/speech", speak),
    web.post("/api/v1/audio/synthesize", speak_mobile),
    web.get("/api/v1/audio/voices", voices),
]
