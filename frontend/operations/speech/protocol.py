"""Speech requests of the developer and the mobile endpoints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.extensions import VOICE_LIST
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.errors import InvalidRequest, TooLarge
from frontend.http import fields
from frontend.operations.speech.voices import PiperVoice

LONGEST_INPUT = 5000  # code points
SLOWEST, FASTEST = 0.5, 2.0


@dataclass(frozen=True)
class SpeechRequest:
    """A text and a voice. ``text_field`` names the text in errors."""

    text: str
    voice: str
    response_format: str
    model: str
    text_field: str = "input"


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


def _check_speed(values: Mapping[str, Any]) -> None:
    speed = values.get("speed")
    if speed is None or speed == "":
        return
    number = speed if isinstance(speed, int | float) and not isinstance(speed, bool) else math.nan
    if not SLOWEST <= number <= FASTEST:
        raise InvalidRequest(f"speed must be a number from {SLOWEST} to {FASTEST}", param="speed")


def parse_openai(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the developer endpoint's JSON."""
    fields.refuse_unknown(values, parameters.meant(SPEECH, served), parameters.ignored(SPEECH, served))
    if values.get("stream_format") == "sse":
        raise InvalidRequest("stream_format must be audio: this endpoint sends no events", param="stream_format")
    model = fields.model(values, served.model_names(SPEECH))
    _check_speed(values)
    return SpeechRequest(
        text=parse_text(values, "input"),
        voice=parse_voice(fields.text(values, "voice"), fields.text(values, "language"), served),
        response_format=fields.choice(values, "response_format", AUDIO_FORMATS, served.aliases.speech_format or "wav"),
        model=model,
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


def render_names(served: Served, exported: Mapping[str, PiperVoice]) -> dict[str, Any]:
    """The voice list of the developer endpoint, with aliases; with the extension, sample rates and samples too."""
    known = {voice.name: voice for voice in served.voices}
    detailed = VOICE_LIST in served.extensions
    voices = [
        {"id": name, "name": name, "language": known[own].language, "gender": known[own].gender}
        | (_details(own, exported[own]) if detailed else {})
        for name, own in served.voice_names().items()
    ]
    return {"voices": voices}


def _details(name: str, voice: PiperVoice) -> dict[str, Any]:
    sample = {"sample": f"/v1/audio/voices/{name}/sample"} if voice.sample else {}
    return {"sample_rate": voice.sample_rate, **sample}


def render_voices(served: Served) -> dict[str, Any]:
    """The voice list of the mobile endpoint."""
    voices = [{"name": v.name, "language": v.language, "gender": v.gender} for v in served.voices]
    return {"voices": voices, "defaults_by_language": served.defaults_by_language}
