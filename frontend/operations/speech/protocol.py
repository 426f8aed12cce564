"""Speech requests, and how the developer and the mobile endpoint write them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.errors import InvalidRequest, TooLarge
from frontend.http import fields
from frontend.operations.speech.voices import CATALOGUE, DEFAULTS_BY_LANGUAGE

MODELS = ("tts-1", "tts-1-hd")
FORMATS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
LONGEST_INPUT = 5000
_PARAMETERS = ("input", "voice", "model", "response_format", "speed", "language")
SLOWEST, FASTEST = 0.5, 2.0


@dataclass(frozen=True)
class SpeechRequest:
    """Text to say with one of the catalogue's voices. ``text_field`` is what errors call the text."""

    text: str
    voice: str
    response_format: str
    model: str = MODELS[0]
    text_field: str = "input"


def parse_voice(voice: str | None, language: str | None) -> str:
    """The voice that was asked for, else the default of the language."""
    if voice is not None:
        if voice not in CATALOGUE:
            message = f"unknown voice: {voice[:64]}; voices are {', '.join(CATALOGUE)}"
            raise InvalidRequest(message, param="voice")
        return voice
    if language is None:
        raise InvalidRequest(f"missing parameter: voice; voices are {', '.join(CATALOGUE)}", param="voice")
    if language.lower() not in DEFAULTS_BY_LANGUAGE:
        message = f"there is no default voice for language {language[:16]}"
        raise InvalidRequest(message, param="language")
    return DEFAULTS_BY_LANGUAGE[language.lower()]


def parse_text(values: Mapping[str, Any], name: str) -> str:
    """The text to say: not blank, at most 5000 code points."""
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


def parse_openai(values: Mapping[str, Any]) -> SpeechRequest:
    """The developer endpoint's JSON."""
    fields.refuse_unknown(values, _PARAMETERS)
    model = fields.model(values, MODELS, MODELS[0])
    _check_speed(values)
    return SpeechRequest(
        text=parse_text(values, "input"),
        voice=parse_voice(fields.text(values, "voice"), fields.text(values, "language")),
        response_format=fields.choice(values, "response_format", tuple(FORMATS), "wav"),
        model=model,
    )


def parse_mobile(values: Mapping[str, Any]) -> SpeechRequest:
    """The mobile endpoint's JSON."""
    fields.refuse_unknown(values, ("text", "voice", "format"))
    return SpeechRequest(
        text=parse_text(values, "text"),
        voice=parse_voice(fields.text(values, "voice"), None),
        response_format=fields.choice(values, "format", tuple(FORMATS), "mp3"),
        text_field="text",
    )


def render_voices() -> dict[str, Any]:
    """The voice list of the mobile endpoint."""
    voices = [{"name": v.name, "language": v.language, "gender": v.gender} for v in CATALOGUE.values()]
    return {"voices": voices, "defaults_by_language": DEFAULTS_BY_LANGUAGE}
