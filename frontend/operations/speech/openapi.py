"""What the OpenAPI document says of speech."""

from frontend.http.schemas import Schema, answer_object, get, json_content, post, reference, request_object
from frontend.operations.speech import protocol
from frontend.operations.speech.voices import CATALOGUE, DEFAULTS_BY_LANGUAGE

_VOICE = {"enum": list(CATALOGUE)}
_TEXT = {"type": "string", "minLength": 1, "maxLength": protocol.LONGEST_INPUT}
_FORMATS = [*protocol.FORMATS, "", None]
_BODY = {
    **request_object(
        {
            "input": _TEXT,
            "voice": {"enum": [*CATALOGUE, "", None]},
            "model": {"enum": [*protocol.MODELS, "", None], "description": "For compatibility: there is one model."},
            "response_format": {"enum": _FORMATS, "default": "wav"},
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
                "examples": list(DEFAULTS_BY_LANGUAGE),
            },
        },
        "input",
    ),
    # The voice itself, or a language that has a default one.
    "anyOf": [
        {"required": ["voice"], "properties": {"voice": _VOICE}},
        {"required": ["language"], "properties": {"language": {"enum": list(DEFAULTS_BY_LANGUAGE)}}},
    ],
}
_MOBILE_BODY = request_object(
    {"text": _TEXT, "voice": _VOICE, "format": {"enum": _FORMATS, "default": "mp3"}}, "text", "voice"
)
_AUDIO = {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in protocol.FORMATS.values()}}

SCHEMAS: Schema = {
    "Voices": answer_object(
        {
            "voices": {"type": "array", "items": reference("Voice")},
            "defaults_by_language": {"type": "object", "additionalProperties": _VOICE},
        }
    ),
    "Voice": answer_object({"name": _VOICE, "language": {"type": "string"}, "gender": {"enum": ["female", "male"]}}),
}

PATHS: Schema = {
    "/v1/audio/speech": post("Text to speech", json_content(_BODY), _AUDIO),
    "/api/v1/audio/synthesize": post("Text to speech, for mobile apps", json_content(_MOBILE_BODY), _AUDIO),
    "/api/v1/audio/voices": get("The voices, and the default one of each language", json_content(reference("Voices"))),
}
