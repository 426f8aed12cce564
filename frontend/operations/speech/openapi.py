"""The OpenAPI description of speech."""

from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.extensions import SPEECH_SPEED, SPEECH_STREAMING, VOICE_LIST
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
_BINARY = {"schema": {"type": "string", "format": "binary"}}
# Never sent: openapi-python-client leaves out an answer that is only audio.
_BYTES = "application/octet-stream"
_SAMPLE = {"content": {AUDIO_FORMATS["wav"]: _BINARY, _BYTES: _BINARY}}
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
    return {"content": {**dict.fromkeys([*served.audio_formats.values(), _BYTES], _BINARY), **streamed}}


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


def _names(served: Served, one: Schema) -> OpenApiFragment:
    """The list of voice names, which exists if aliases are set, and with the extension the samples."""
    names = one_of(served.voice_names())
    answer = answer_object({"voices": {"type": "array", "items": reference("NamedVoice")}})
    listed = {"/v1/audio/voices": get("listVoiceNames", "List the voice names", json_content(answer))}
    named = {"id": names, **one, "name": names}
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
    unknown = any(each.gender == UNKNOWN for each in served.voices)
    genders = one_of(["female", "male", *[UNKNOWN] * unknown])
    one = {"name": voice, "language": {"type": "string"}, "gender": genders}
    listed = served.aliases or VOICE_LIST in served.extensions
    named = _names(served, one) if listed else OpenApiFragment({})
    return OpenApiFragment(
        {
            "/v1/audio/speech": post("createSpeech", "Text to speech", body, _audio(served)),
            **named.paths,
            "/api/v1/audio/synthesize": post(
                "synthesize", "Text to speech, for mobile apps", mobile_body, _audio(served.contract)
            ),
            "/api/v1/audio/voices": get(
                "listVoices", "List the voices and the default of each language", json_content(reference("Voices"))
            ),
        },
        {"Voices": answer_object(voices), "Voice": answer_object(one), **named.schemas},
    )
