"""The OpenAPI description of the lists of voices."""

from frontend.catalogue.extensions import VOICE_LIST
from frontend.catalogue.models import Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.schemas import OpenApiFragment, answer_object, get, json_content, one_of, reference
from frontend.operations.speech.openapi import BINARY, BYTES, one_voice

_SAMPLE = {"content": {AUDIO_FORMATS["wav"]: BINARY, BYTES: BINARY}}


def describe(served: Served) -> OpenApiFragment:
    """The list of names, and with the extension the samples."""
    names = one_of(served.voice_names())
    answer = answer_object({"voices": {"type": "array", "items": reference("NamedVoice")}})
    listed = {"/v1/audio/voices": get("listVoiceNames", "List the voice names", json_content(answer))}
    named = {"id": names, **one_voice(served), "name": names}
    if VOICE_LIST not in served.extensions:
        return OpenApiFragment(listed, {"NamedVoice": answer_object(named)})
    details = {
        "sample_rate": {"type": "integer", "description": "Samples per second."},
        "sample": {"type": "string", "description": "The path of a short WAV file, if the voice has one."},
    }
    voice = {"name": "voice", "in": "path", "required": True, "schema": names}
    heard = get("hearVoice", "A sentence of a voice, free", _SAMPLE, parameters=[voice])
    return OpenApiFragment(
        {**listed, "/v1/audio/voices/{voice}/sample": heard},
        {"NamedVoice": answer_object({**named, **details}, "sample")},
    )
