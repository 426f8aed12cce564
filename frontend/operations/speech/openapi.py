"""The OpenAPI description of speech."""

from typing import Any

from frontend.catalogue.extensions import SPEECH_STREAMING, VOICE_LIST
from frontend.catalogue.models import Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.schemas import OpenApiFragment, json_content
from frontend.operations.speech.protocol import VoiceNames, Voices
from frontend.parameters.kinds import one_of
from frontend.parameters.speech import MOBILE, PARAMETERS

_EXAMPLE = "Good morning."
_BINARY = {"schema": {"type": "string", "format": "binary"}}
# Never sent: openapi-python-client leaves out an answer that is only audio.
_BYTES = "application/octet-stream"
_SAMPLE = {"content": {AUDIO_FORMATS["wav"]: _BINARY, _BYTES: _BINARY}}
_EVENTS = {
    "text/event-stream": {
        "schema": {"type": "string"},
        "example": 'data: {"type":"speech.audio.delta","audio":"UklGRv"}\n\n',
    }
}


def _audio(served: Served) -> dict[str, Any]:
    streamed = _EVENTS if SPEECH_STREAMING in served.extensions else {}
    return {"content": {**dict.fromkeys([*served.audio_formats.values(), _BYTES], _BINARY), **streamed}}


def _add_names(own: OpenApiFragment) -> None:
    """The list of voice names, which exists if aliases are set, and with the extension the samples."""
    answer = json_content(own.described(VoiceNames))
    own.get("/v1/audio/voices", "listVoiceNames", "List the voice names", answer)
    if VOICE_LIST in own.served.extensions:
        voice = {"name": "voice", "in": "path", "required": True, "schema": one_of(own.served.voice_names())}
        path = "/v1/audio/voices/{voice}/sample"
        own.get(path, "hearVoice", "A sentence of a voice, free", _SAMPLE, parameters=[voice])


def describe(served: Served) -> OpenApiFragment:
    own, first = OpenApiFragment(served), {"voice": served.voices[0].name}
    body = own.takes(PARAMETERS, {"input": _EXAMPLE, **first})
    own.post("/v1/audio/speech", "createSpeech", "Text to speech", body, _audio(served))
    if served.aliases or VOICE_LIST in served.extensions:
        _add_names(own)
    own.post(
        "/api/v1/audio/synthesize",
        "synthesize",
        "Text to speech, for mobile apps",
        OpenApiFragment(served.contract).takes(MOBILE, {"text": _EXAMPLE, **first}),
        _audio(served.contract),
    )
    summary = "List the voices and the default of each language"
    own.get("/api/v1/audio/voices", "listVoices", summary, own.answers(Voices))
    return own
