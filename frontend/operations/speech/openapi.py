"""What the OpenAPI document says of speech."""

from typing import Any

from frontend.fields import NULL
from frontend.operations.speech import protocol
from frontend.operations.speech.voices import CATALOGUE, DEFAULTS_BY_LANGUAGE

_TEXT = {"type": "string", "minLength": 1, "maxLength": protocol.LONGEST_INPUT}
_FORMATS = [*protocol.FORMATS, "", None]
_BODY = {
    "type": "object",
    "additionalProperties": NULL,
    "required": ["input"],
    # The voice itself, or a language that has a default one.
    "anyOf": [
        {"required": ["voice"], "properties": {"voice": {"enum": list(CATALOGUE)}}},
        {"required": ["language"], "properties": {"language": {"enum": list(DEFAULTS_BY_LANGUAGE)}}},
    ],
    "properties": {
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
}
_MOBILE_BODY = {
    "type": "object",
    "additionalProperties": NULL,
    "required": ["text", "voice"],
    "properties": {
        "text": _TEXT,
        "voice": {"enum": list(CATALOGUE)},
        "format": {"enum": _FORMATS, "default": "mp3"},
    },
}
_AUDIO = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in protocol.FORMATS.values()}

SCHEMAS: dict[str, Any] = {
    "Voices": {
        "type": "object",
        "additionalProperties": False,
        "required": ["voices", "defaults_by_language"],
        "properties": {
            "voices": {"type": "array", "items": {"$ref": "#/components/schemas/Voice"}},
            "defaults_by_language": {"type": "object", "additionalProperties": {"enum": list(CATALOGUE)}},
        },
    },
    "Voice": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "language", "gender"],
        "properties": {
            "name": {"enum": list(CATALOGUE)},
            "language": {"type": "string"},
            "gender": {"enum": ["female", "male"]},
        },
    },
}


def _operation(summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": {"200": {"content": _AUDIO}}}}


PATHS: dict[str, Any] = {
    "/v1/audio/speech": _operation("Text to speech", _BODY),
    "/api/v1/audio/synthesize": _operation("Text to speech, for mobile apps", _MOBILE_BODY),
    "/api/v1/audio/voices": {
        "get": {
            "summary": "The voices, and the default one of each language",
            "responses": {
                "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Voices"}}}}
            },
        }
    },
}
