"""What the OpenAPI document says of speech."""

from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.http.schemas import (
    Part,
    Schema,
    answer_object,
    get,
    ignored,
    json_content,
    post,
    reference,
    request_object,
)
from frontend.operations.speech import protocol

_TEXT = {"type": "string", "minLength": 1, "maxLength": protocol.LONGEST_INPUT}
_FORMATS = [*AUDIO_FORMATS, "", None]
_AUDIO = {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in AUDIO_FORMATS.values()}}


def _body(served: Served) -> Schema:
    voice = {"enum": list(served.voice_names())}
    return {
        **request_object(
            {
                "input": _TEXT,
                "voice": {"enum": [*voice["enum"], "", None]},
                "model": {
                    "enum": [*served.model_names(SPEECH), "", None],
                    "description": "For compatibility: there is one model.",
                },
                "response_format": {"enum": _FORMATS, "default": served.aliases.speech_format or "wav"},
                "speed": {
                    "anyOf": [
                        {"type": "number", "minimum": protocol.SLOWEST, "maximum": protocol.FASTEST},
                        {"enum": ["", None]},
                    ],
                    "description": "Checked, then ignored.",
                },
                "language": {
                    "type": ["string", "null"],
                    "description": "Chooses the default voice where voice is absent, in any case.",
                    "examples": list(served.defaults_by_language),
                },
                **ignored(served.aliases.ignore),
            },
            "input",
        ),
        # The voice itself, or a language that has a default one.
        "anyOf": [
            {"required": ["voice"], "properties": {"voice": voice}},
            {"required": ["language"], "properties": {"language": {"enum": list(served.defaults_by_language)}}},
        ],
    }


def _names(served: Served, one: Schema) -> Part:
    """What apps look for where a deployment has other names."""
    names = {"enum": list(served.voice_names())}
    answer = answer_object({"voices": {"type": "array", "items": reference("NamedVoice")}})
    return Part(
        {"/v1/audio/voices": get("Every voice name that speech takes", json_content(answer))},
        {"NamedVoice": answer_object({"id": names, **one, "name": names})},
    )


def describe(served: Served) -> Part:
    voice = {"enum": [voice.name for voice in served.voices]}
    mobile = {"text": _TEXT, "voice": voice, "format": {"enum": _FORMATS, "default": "mp3"}}
    voices = {
        "voices": {"type": "array", "items": reference("Voice")},
        "defaults_by_language": {"type": "object", "additionalProperties": voice},
    }
    one = {"name": voice, "language": {"type": "string"}, "gender": {"enum": ["female", "male"]}}
    named = _names(served, one) if served.aliases else Part({})
    return Part(
        {
            "/v1/audio/speech": post("Text to speech", json_content(_body(served)), _AUDIO),
            **named.paths,
            "/api/v1/audio/synthesize": post(
                "Text to speech, for mobile apps", json_content(request_object(mobile, "text", "voice")), _AUDIO
            ),
            "/api/v1/audio/voices": get(
                "The voices, and the default one of each language", json_content(reference("Voices"))
            ),
        },
        {"Voices": answer_object(voices), "Voice": answer_object(one), **named.schemas},
    )
