"""GET /v1/audio/voices: the voices as apps for OpenAI expect them, with aliases, and a sample of each."""

from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.app_keys import SPEECH as PIPELINE
from frontend.catalogue.extensions import VOICE_LIST
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.config.settings import Settings
from frontend.errors import NotFound
from frontend.extensions.voices import openapi
from frontend.http.rendering import json_response
from frontend.operations.speech.voices import ExportedVoice
from frontend.rings import Ring


async def voice_names(request: web.Request) -> web.Response:
    """All names of voices, including aliases."""
    return json_response(_rendered(request.app[SETTINGS].served, request.app[PIPELINE].voices))


async def sample(request: web.Request) -> web.Response:
    """A sentence of a voice, free because the export has spoken it."""
    names, asked = request.app[SETTINGS].served.voice_names(), request.match_info["voice"]
    if asked not in names or not (audio := request.app[PIPELINE].voices[names[asked]].sample):
        raise NotFound(f"there is no sample of a voice {asked[:64]}", param="voice")
    return web.Response(body=audio, content_type=AUDIO_FORMATS["wav"])


def _rendered(served: Served, exported: Mapping[str, ExportedVoice]) -> dict[str, Any]:
    """The voice list of the developer endpoint, with aliases; with the extension, sample rates and samples too."""
    known = {voice.name: voice for voice in served.voices}
    detailed = VOICE_LIST in served.extensions
    voices = [
        {"id": name, "name": name, "language": known[own].language, "gender": known[own].gender}
        | (_details(own, exported[own]) if detailed else {})
        for name, own in served.voice_names().items()
    ]
    return {"voices": voices}


def _details(name: str, voice: ExportedVoice) -> dict[str, Any]:
    sample = {"sample": f"/v1/audio/voices/{name}/sample"} if voice.sample else {}
    return {"sample_rate": voice.sample_rate, **sample}


def _routes(settings: Settings) -> Iterator[web.RouteDef]:
    yield web.get("/v1/audio/voices", voice_names)
    if VOICE_LIST in settings.served.extensions:
        yield web.get("/v1/audio/voices/{voice}/sample", sample)


def _is_on(settings: Settings) -> bool:
    served = settings.served
    return SPEECH in settings.operations and bool(served.aliases or VOICE_LIST in served.extensions)


VOICES = Ring(is_on=_is_on, routes=_routes, describe=lambda settings: openapi.describe(settings.served))
