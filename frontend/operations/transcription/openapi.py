"""What the OpenAPI document says of transcription."""

from typing import Any

from frontend.operations.transcription import protocol
from frontend.operations.transcription.languages import LANGUAGES

_LANGUAGE = {
    "type": "string",
    "enum": [*sorted(LANGUAGES), ""],
    "description": "ISO-639-1 code, in any case; detected where it is absent.",
}
_FORM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC or 3GPP, decided from its content; at most 25 MB.",
        },
        "model": {"type": "string", "enum": [*protocol.MODELS, ""], "default": "stt-1"},
        "language": _LANGUAGE,
        "prompt": {"type": "string", "maxLength": protocol.LONGEST_PROMPT, "description": "Context that biases."},
        "response_format": {"type": "string", "enum": [*protocol.FORMATS, ""], "default": "json"},
        "temperature": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
        "timestamp_granularities[]": {
            "type": "array",
            "items": {"type": "string", "enum": list(protocol.GRANULARITIES)},
            "description": "Needs response_format=verbose_json. Also taken without the brackets.",
        },
    },
}
_MOBILE_FORM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["audio"],
    "properties": {
        "audio": _FORM["properties"]["file"],  # type: ignore[index]
        "language": _LANGUAGE,
        "with_segments": {"type": "string", "enum": ["true", "false", "1", "0", ""], "default": "false"},
    },
}


def _exact(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


SCHEMAS: dict[str, Any] = {
    "Transcription": _exact({"text": {"type": "string"}}),
    "VerboseTranscription": _exact(
        {
            "task": {"const": "transcribe"},
            "language": {"type": "string"},
            "duration": {"type": "number", "minimum": 0, "description": "Seconds of audio."},
            "text": {"type": "string"},
            "segments": {"type": "array", "items": {"$ref": "#/components/schemas/Segment"}},
            "words": {"type": "array", "items": {"$ref": "#/components/schemas/Word"}},
        },
        "words",
    ),
    "Segment": _exact(
        {
            "id": {"type": "integer", "minimum": 0},
            "start": {"type": "number", "description": "Seconds from the start of the audio."},
            "end": {"type": "number"},
            "text": {"type": "string"},
            "avg_logprob": {"type": "number"},
            "no_speech_prob": {"type": "number", "minimum": 0, "maximum": 1},
        }
    ),
    "Word": _exact(
        {
            "start": {"type": "number"},
            "end": {"type": "number"},
            "word": {"type": "string"},
            "probability": {"type": "number", "minimum": 0, "maximum": 1},
        }
    ),
    "MobileTranscription": _exact(
        {
            "text": {"type": "string"},
            "language": {"type": "string"},
            "duration_seconds": {"type": "number", "minimum": 0},
            "model": {"type": "string"},
            "segments": {"type": "array", "items": {"$ref": "#/components/schemas/Segment"}},
        }
    ),
}


def _operation(summary: str, form: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": {"200": {"content": answers}}}}


PATHS: dict[str, Any] = {
    "/v1/audio/transcriptions": _operation(
        "Speech to text",
        _FORM,
        {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"$ref": "#/components/schemas/Transcription"},
                        {"$ref": "#/components/schemas/VerboseTranscription"},
                    ]
                }
            },
            "text/plain": {"schema": {"type": "string"}},
        },
    ),
    "/api/v1/audio/transcribe": _operation(
        "Speech to text, for mobile apps",
        _MOBILE_FORM,
        {"application/json": {"schema": {"$ref": "#/components/schemas/MobileTranscription"}}},
    ),
}
