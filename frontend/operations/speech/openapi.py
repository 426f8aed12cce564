"""The OpenAPI description of speech."""

from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.extensions import SPEECH_SPEED, SPEECH_STREAMING
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS, UNKNOWN
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
_SPEED = "How fast the voice speaks, without a change of pitch; 1 is its own speed."
BINARY = {"schema": {"type": "string", "format": "binary"}}
# Never sent: openapi-python-client leaves out an answer that is only audio.
BYTES = "application/octet-stream"
_STREAM_FORMAT = {
    "description": "Send the speech sentence by sentence, as bytes or as events. Without it, the answer is whole."
}
_EVENTS = {
    "text/event-stream": {
        "schema": {"type": "string"},
        "example": 'data: {"type":"speech.audio.delta","audio":"UklGRv"}\n\n',
    }
}


def _audio(served: Served) -> dict[str, Any]:
    streamed = _EVENTS if SPEECH_STREAMING in served.extensions else {}
    return {"content": {**dict.fromkeys([*served.audio_formats.values(), BYTES], BINARY), **streamed}}


def _body(served: Served) -> Schema:
    streams = SPEECH_STREAMING in served.extensions
    return request_object(
        {
            "input": _TEXT,
            "voice": one_of(served.voice_names(), description="Optional if language has a default voice."),
            "model": one_of(served.model_names(SPEECH), description="All names give the same model."),
            "response_format": one_of(served.audio_formats, default=served.aliases.speech_format or "wav"),
            "speed": {
                "type": "number",
                "minimum": protocol.SLOWEST,
                "maximum": protocol.FASTEST,
                "description": _SPEED if SPEECH_SPEED in served.extensions else "Checked, then ignored.",
            },
            "language": {
                "type": "string",
                "description": "Selects the default voice if voice is absent; case does not matter.",
                "examples": list(served.defaults_by_language),
            },
            **({"stream_format": one_of(protocol.STREAM_FORMATS, **_STREAM_FORMAT)} if streams else {}),
            **ignored(parameters.ignored(SPEECH, served)),
        },
        "input",
    )


def one_voice(served: Served) -> Schema:
    """The properties of a voice."""
    unknown = any(each.gender == UNKNOWN for each in served.voices)
    genders = one_of(["female", "male", *[UNKNOWN] * unknown])
    return {"name": one_of(voice.name for voice in served.voices), "language": {"type": "string"}, "gender": genders}


def describe(served: Served) -> OpenApiFragment:
    one, first = one_voice(served), served.voices[0].name
    voice = one["name"]
    mobile = request_object(
        {"text": _TEXT, "voice": voice, "format": one_of(AUDIO_FORMATS, default="mp3")}, "text", "voice"
    )
    body = json_content(_body(served), {"input": _EXAMPLE, "voice": first})
    mobile_body = json_content(mobile, {"text": _EXAMPLE, "voice": first})
    voices = {
        "voices": {"type": "array", "items": reference("Voice")},
        "defaults_by_language": {"type": "object", "additionalProperties": voice},
    }
    return OpenApiFragment(
        {
            "/v1/audio/speech": post("createSpeech", "Text to speech", body, _audio(served)),
            "/api/v1/audio/synthesize": post(
                "synthesize", "Text to speech, for mobile apps", mobile_body, _audio(served.contract)
            ),
            "/api/v1/audio/voices": get(
                "listVoices", "List the voices and the default of each language", json_content(reference("Voices"))
            ),
        },
        {"Voices": answer_object(voices), "Voice": answer_object(one)},
    )
