"""The OpenAPI description of speech."""

from frontend.catalogue import parameters
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.schemas import (
    OpenApiFragment,
    Schema,
    answer_object,
    get,
    ignored,
    json_content,
    one_of,
    post,
    reference,
    request_object,
)
from frontend.operations.speech import protocol

_TEXT = {"type": "string", "minLength": 1, "maxLength": protocol.LONGEST_INPUT}
_EXAMPLE = "Good morning."
_AUDIO = {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in AUDIO_FORMATS.values()}}


def _body(served: Served) -> Schema:
    return request_object(
        {
            "input": _TEXT,
            "voice": one_of(served.voice_names(), description="Optional if language has a default voice."),
            "model": one_of(served.model_names(SPEECH), description="All names give the same model."),
            "response_format": one_of(AUDIO_FORMATS, default=served.aliases.speech_format or "wav"),
            "speed": {
                "type": "number",
                "minimum": protocol.SLOWEST,
                "maximum": protocol.FASTEST,
                "description": "Checked, then ignored.",
            },
            "language": {
                "type": "string",
                "description": "Selects the default voice if voice is absent; case does not matter.",
                "examples": list(served.defaults_by_language),
            },
            **ignored(parameters.ignored(SPEECH, served)),
        },
        "input",
    )


def _names(served: Served, one: Schema) -> OpenApiFragment:
    """The list of voice names, which exists if aliases are set."""
    names = one_of(served.voice_names())
    answer = answer_object({"voices": {"type": "array", "items": reference("NamedVoice")}})
    return OpenApiFragment(
        {"/v1/audio/voices": get("listVoiceNames", "List the voice names", json_content(answer))},
        {"NamedVoice": answer_object({"id": names, **one, "name": names})},
    )


def describe(served: Served) -> OpenApiFragment:
    voice, first = one_of(voice.name for voice in served.voices), served.voices[0].name
    mobile = request_object(
        {"text": _TEXT, "voice": voice, "format": one_of(AUDIO_FORMATS, default="mp3")}, "text", "voice"
    )
    body = json_content(_body(served), {"input": _EXAMPLE, "voice": first})
    mobile_body = json_content(mobile, {"text": _EXAMPLE, "voice": first})
    voices = {
        "voices": {"type": "array", "items": reference("Voice")},
        "defaults_by_language": {"type": "object", "additionalProperties": voice},
    }
    one = {"name": voice, "language": {"type": "string"}, "gender": one_of(["female", "male"])}
    named = _names(served, one) if served.aliases else OpenApiFragment({})
    return OpenApiFragment(
        {
            "/v1/audio/speech": post("createSpeech", "Text to speech", body, _AUDIO),
            **named.paths,
            "/api/v1/audio/synthesize": post("synthesize", "Text to speech, for mobile apps", mobile_body, _AUDIO),
            "/api/v1/audio/voices": get(
                "listVoices", "List the voices and the default of each language", json_content(reference("Voices"))
            ),
        },
        {"Voices": answer_object(voices), "Voice": answer_object(one), **named.schemas},
    )
