"""POST /v1/audio/speech and /api/v1/audio/synthesize, and the lists of voices."""

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, SETTINGS, SPEECH, UNBILLED_WORK
from frontend.catalogue.extensions import VOICE_LIST
from frontend.catalogue.models import Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.errors import NotFound
from frontend.http.answers import deliver, deliver_while_made
from frontend.http.json import Converts
from frontend.http.rendering import EVENTS, json_response
from frontend.operations.speech import protocol
from frontend.parameters import speech as parameters


async def _speak(request: web.Request, parses: Converts[protocol.SpeechRequest]) -> web.StreamResponse:
    app, context, memory = request.app, request[CONTEXT], request[MEMORY_RESERVATION]
    reserve, rest = request[BILLING].reserve, None
    async with app[UNBILLED_WORK].paced(context.key):
        parsed = await app[JSON_BODIES].read(request, memory, context, parses)
        if parsed.stream_format:
            audio, rest, bill = await app[SPEECH].stream(parsed, context, reserve, memory)
        else:
            audio, bill = await app[SPEECH].run(parsed, context, reserve, memory)
    kind = {"Content-Type": app[SETTINGS].served.audio_formats[parsed.response_format]}
    head = EVENTS if parsed.stream_format == parameters.EVENTS else kind
    if rest is None:
        return await deliver(request, head, audio, bill)
    return await deliver_while_made(request, head, audio, rest, bill)


async def speak(request: web.Request) -> web.StreamResponse:
    return await _speak(request, protocol.parse_openai)


async def speak_mobile(request: web.Request) -> web.StreamResponse:
    """Speech for the mobile API."""
    return await _speak(request, protocol.parse_mobile)


async def voices(request: web.Request) -> web.Response:
    """The voices, and each language's default."""
    return json_response(protocol.render_voices(request.app[SETTINGS].served))


async def voice_names(request: web.Request) -> web.Response:
    """All names of voices, including aliases, in the form that apps for OpenAI expect."""
    return json_response(protocol.render_names(request.app[SETTINGS].served, request.app[SPEECH].voices))


async def sample(request: web.Request) -> web.Response:
    """A sentence of a voice, free because the export has spoken it."""
    names, asked = request.app[SETTINGS].served.voice_names(), request.match_info["voice"]
    if asked not in names or not (audio := request.app[SPEECH].voices[names[asked]].sample):
        raise NotFound(f"there is no sample of a voice {asked[:64]}", param="voice")
    return web.Response(body=audio, content_type=AUDIO_FORMATS["wav"])


def routes(served: Served) -> list[web.RouteDef]:
    listed = VOICE_LIST in served.extensions
    return [
        web.post("/v1/audio/speech", speak),
        web.post("/api/v1/audio/synthesize", speak_mobile),
        web.get("/api/v1/audio/voices", voices),
        *([web.get("/v1/audio/voices", voice_names)] if listed or served.aliases else []),
        *([web.get("/v1/audio/voices/{voice}/sample", sample)] if listed else []),
    ]
