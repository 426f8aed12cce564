"""POST /v1/audio/speech and /api/v1/audio/synthesize, and the lists of voices."""

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, SETTINGS, SPEECH, UNBILLED_WORK
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.errors import NotFound
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import json_response
from frontend.operations.speech import protocol
from frontend.usage.bill import Bill

_Parses = Converts[protocol.SpeechRequest]


async def _speech(request: web.Request, parses: _Parses) -> tuple[dict[str, str], bytes, Bill]:
    app, context, memory = request.app, request[CONTEXT], request[MEMORY_RESERVATION]
    async with app[UNBILLED_WORK].paced(context.key):
        parsed = await app[JSON_BODIES].read(request, memory, context, parses)
        audio, bill = await app[SPEECH].run(parsed, context, request[BILLING].reserve, memory)
    return {"Content-Type": AUDIO_FORMATS[parsed.response_format]}, audio, bill


async def speak(request: web.Request) -> web.StreamResponse:
    return await deliver(request, *await _speech(request, protocol.parse_openai))


async def speak_mobile(request: web.Request) -> web.StreamResponse:
    """Speech for the mobile API."""
    return await deliver(request, *await _speech(request, protocol.parse_mobile))


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


# Only if aliases are set, or the extension is on.
NAMES = web.get("/v1/audio/voices", voice_names)
# Only if the extension is on.
SAMPLE = web.get("/v1/audio/voices/{voice}/sample", sample)
ROUTES = [
    web.post("/v1/audio/speech", speak),
    web.post("/api/v1/audio/synthesize", speak_mobile),
    web.get("/api/v1/audio/voices", voices),
]
