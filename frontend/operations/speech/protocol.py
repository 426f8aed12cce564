"""Speech requests of the developer and the mobile endpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from frontend.catalogue.extensions import SPEECH_SPEED
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import UNKNOWN
from frontend.errors import InvalidRequest
from frontend.parameters.speech import MOBILE, PARAMETERS, VOICE


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


def _voice(given: Mapping[str, Any], served: Served) -> str:
    """The requested voice, or the default of the language."""
    voice, language, defaults = given["voice"], given["language"], served.defaults_by_language
    if voice is None and language is None:
        raise InvalidRequest(VOICE.missing(served), param="voice")
    if voice is None and language.lower() not in defaults:
        raise InvalidRequest(f"there is no default voice for language {language[:16]}", param="language")
    return str(voice or defaults[language.lower()])


def names_of_voices(served: Served) -> dict[str, Any]:
    return {"enum": [voice.name for voice in served.voices]}


def genders(served: Served) -> dict[str, Any]:
    unknown = any(voice.gender == UNKNOWN for voice in served.voices)
    return {"enum": ["female", "male", *[UNKNOWN] * unknown]}


class Voice(TypedDict):
    name: Annotated[str, names_of_voices]
    language: str
    gender: Annotated[str, genders]


class Voices(TypedDict):
    """The voice list of the mobile endpoint."""

    voices: list[Voice]
    defaults_by_language: dict[str, Annotated[str, names_of_voices]]


def parse_openai(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the developer endpoint's JSON."""
    given = PARAMETERS.read(values, served)
    return SpeechRequest(
        text=given["input"],
        voice=_voice(given, served),
        response_format=given["response_format"],
        model=given["model"],
        speed=(given["speed"] or 1.0) if SPEECH_SPEED in served.extensions else 1.0,
        stream_format=given.get("stream_format", ""),
    )


def parse_mobile(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the mobile endpoint's JSON."""
    given = MOBILE.read(values, served.contract)
    return SpeechRequest(
        text=given["text"],
        voice=given["voice"],
        response_format=given["format"],
        model=served.ids(SPEECH)[0],
        text_field="text",
    )


def render_voices(served: Served) -> Voices:
    voices: list[Voice] = [{"name": v.name, "language": v.language, "gender": v.gender} for v in served.voices]
    return {"voices": voices, "defaults_by_language": served.defaults_by_language}
