"""The OpenAPI description of the lists of voices, and their answers."""

from typing import Annotated, Any, NotRequired, TypedDict

from frontend.catalogue.extensions import VOICE_LIST
from frontend.catalogue.models import Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.schemas import OpenApiFragment, json_content, needs
from frontend.operations.speech.openapi import BINARY, BYTES
from frontend.operations.speech.protocol import genders
from frontend.parameters.kinds import one_of

_SAMPLE = {"content": {AUDIO_FORMATS["wav"]: BINARY, BYTES: BINARY}}


def _names(served: Served) -> dict[str, Any]:
    return {"enum": list(served.voice_names())}


class NamedVoice(TypedDict):
    id: Annotated[str, _names]
    name: Annotated[str, _names]
    language: str
    gender: Annotated[str, genders]
    sample_rate: Annotated[int, needs(VOICE_LIST), {"description": "Samples per second."}]
    sample: NotRequired[
        Annotated[str, needs(VOICE_LIST), {"description": "The path of a short WAV file, if the voice has one."}]
    ]


class VoiceNames(TypedDict):
    """The voice list of the developer endpoint."""

    voices: list[NamedVoice]


def describe(served: Served) -> OpenApiFragment:
    """The list of names, and with the extension the samples."""
    own = OpenApiFragment(served)
    answer = json_content(own.described(VoiceNames))
    own.get("/v1/audio/voices", "listVoiceNames", "List the voice names", answer)
    if VOICE_LIST in served.extensions:
        voice = {"name": "voice", "in": "path", "required": True, "schema": one_of(served.voice_names())}
        path = "/v1/audio/voices/{voice}/sample"
        own.get(path, "hearVoice", "A sentence of a voice, free", _SAMPLE, parameters=[voice])
    return own
