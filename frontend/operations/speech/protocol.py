"""Speech requests of the developer and the mobile endpoints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.extensions import SPEECH_SPEED, SPEECH_STREAMING
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.errors import InvalidRequest, TooLarge
from frontend.http import fields

LONGEST_INPUT = 5000  # code points
SLOWEST, FASTEST = 0.5, 2.0
AUDIO, EVENTS = "audio", "sse"
_FORMAT, _PCM = "response_format", "pcm"
# Ways to stream an answer.
STREAM_FORMATS = (AUDIO, EVENTS)


@dataclass(frozen=True)
class SpeechRequest:
    """A text and a voice. ``text_field`` names the text in errors. Without ``stream_format``, the answer is whole."""

    text: str
    voice: str
    response_format: str
    model: str
    text_field: str = "input"
    speed: float = 1.0
    stream_format: str = ""


def parse_voice(voice: str | None, language: str | None, served: Served) -> str:
    """The requested voice, or the default of the language."""
    names, defaults = served.voice_names(), served.defaults_by_language
    if voice is not None:
        if voice not in names:
            message = f"unknown voice: {voice[:64]}; voices are {', '.join(names)}"
            raise InvalidRequest(message, param="voice")
        return names[voice]
    if language is None:
        raise InvalidRequest(f"missing parameter: voice; voices are {', '.join(names)}", param="voice")
    if language.lower() not in defaults:
        message = f"there is no default voice for language {language[:16]}"
        raise InvalidRequest(message, param="language")
    return defaults[language.lower()]


def parse_text(values: Mapping[str, Any], name: str) -> str:
    """The text; not blank, at most 5000 code points."""
    value = fields.text(values, name)
    if value is None or not value.strip():
        raise InvalidRequest(f"{name} must be a text that is not empty", param=name)
    if len(value) > LONGEST_INPUT:
        raise TooLarge(f"{name} is longer than {LONGEST_INPUT} characters", param=name)
    return value


def _speed(values: Mapping[str, Any]) -> float:
    """The speed; 1 if absent."""
    speed = values.get("speed")
    if speed is None or speed == "":
        return 1.0
    number = speed if isinstance(speed, int | float) and not isinstance(speed, bool) else math.nan
    if not SLOWEST <= number <= FASTEST:
        raise InvalidRequest(f"speed must be a number from {SLOWEST} to {FASTEST}", param="speed")
    return number


def _stream_format(values: Mapping[str, Any], served: Served) -> str:
    """One of ``STREAM_FORMATS``, or empty for a whole answer."""
    if SPEECH_STREAMING in served.extensions:
        # Voice agents ask for PCM to play it at once, and some leave this out.
        return fields.choice(values, "stream_format", STREAM_FORMATS, AUDIO if values.get(_FORMAT) == _PCM else "")
    if values.get("stream_format") == EVENTS:
        raise InvalidRequest("stream_format must be audio: this endpoint sends no events", param="stream_format")
    return ""


def parse_openai(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the developer endpoint's JSON."""
    fields.refuse_unknown(values, parameters.meant(SPEECH, served), parameters.ignored(SPEECH, served))
    stream_format = _stream_format(values, served)
    model = fields.model(values, served.model_names(SPEECH))
    speed = _speed(values)
    default = served.aliases.speech_format or "wav"
    return SpeechRequest(
        text=parse_text(values, "input"),
        voice=parse_voice(fields.text(values, "voice"), fields.text(values, "language"), served),
        response_format=fields.choice(values, _FORMAT, served.audio_formats, default),
        model=model,
        speed=speed if SPEECH_SPEED in served.extensions else 1.0,
        stream_format=stream_format,
    )


def parse_mobile(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the mobile endpoint's JSON."""
    fields.refuse_unknown(values, ("text", "voice", "format"))
    return SpeechRequest(
        text=parse_text(values, "text"),
        voice=parse_voice(fields.text(values, "voice"), None, served.contract),
        response_format=fields.choice(values, "format", AUDIO_FORMATS, "mp3"),
        model=served.ids(SPEECH)[0],
        text_field="text",
    )


def render_voices(served: Served) -> dict[str, Any]:
    """The voice list of the mobile endpoint."""
    voices = [{"name": v.name, "language": v.language, "gender": v.gender} for v in served.voices]
    return {"voices": voices, "defaults_by_language": served.defaults_by_language}
