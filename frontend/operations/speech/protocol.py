"""Speech requests of the developer and the mobile endpoints."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

from frontend.catalogue.extensions import SPEECH_SPEED, VOICE_LIST
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import UNKNOWN
from frontend.errors import InvalidRequest
from frontend.http.rendering import render_event
from frontend.http.schemas import needs
from frontend.operations.speech.voices import ExportedVoice
from frontend.parameters.speech import MOBILE, PARAMETERS, VOICE

# Bytes of audio of an event. Some clients read lines of at most 64 kB, and base64 takes four bytes for three.
_EVENT_BYTES = 24 * 1024


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


def _names(served: Served) -> dict[str, Any]:
    return {"enum": [voice.name for voice in served.voices]}


def _all_names(served: Served) -> dict[str, Any]:
    return {"enum": list(served.voice_names())}


def _genders(served: Served) -> dict[str, Any]:
    unknown = any(voice.gender == UNKNOWN for voice in served.voices)
    return {"enum": ["female", "male", *[UNKNOWN] * unknown]}


class Voice(TypedDict):
    name: Annotated[str, _names]
    language: str
    gender: Annotated[str, _genders]


class Voices(TypedDict):
    """The voice list of the mobile endpoint."""

    voices: list[Voice]
    defaults_by_language: dict[str, Annotated[str, _names]]


class NamedVoice(TypedDict):
    id: Annotated[str, _all_names]
    name: Annotated[str, _all_names]
    language: str
    gender: Annotated[str, _genders]
    sample_rate: Annotated[int, needs(VOICE_LIST), {"description": "Samples per second."}]
    sample: NotRequired[
        Annotated[str, needs(VOICE_LIST), {"description": "The path of a short WAV file, if the voice has one."}]
    ]


class VoiceNames(TypedDict):
    """The voice list of the developer endpoint."""

    voices: list[NamedVoice]


def parse_openai(values: Mapping[str, Any], served: Served) -> SpeechRequest:
    """Parse the developer endpoint's JSON."""
    given = PARAMETERS.read(values, served)
    return SpeechRequest(
        text=given["input"],
        voice=_voice(given, served),
        response_format=given["response_format"],
        model=given["model"],
        speed=given["speed"] if SPEECH_SPEED in served.extensions else 1.0,
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


def render_deltas(audio: bytes) -> bytes:
    """Audio as events. Each has a part that any decoder of base64 takes on its own."""
    parts = (audio[start : start + _EVENT_BYTES] for start in range(0, len(audio), _EVENT_BYTES))
    return b"".join(
        render_event({"type": "speech.audio.delta", "audio": base64.b64encode(part).decode("ascii")}) for part in parts
    )


def render_done(characters: int) -> bytes:
    """The last event. It counts the characters that are charged, since speech has no tokens here."""
    usage = {"input_tokens": characters, "output_tokens": 0, "total_tokens": characters}
    return render_event({"type": "speech.audio.done", "usage": usage})


def render_names(served: Served, exported: Mapping[str, ExportedVoice]) -> dict[str, Any]:
    """The voice list of the developer endpoint, with aliases; with the extension, sample rates and samples too."""
    known = {voice.name: voice for voice in served.voices}
    detailed = VOICE_LIST in served.extensions
    voices = [
        {"id": name, "name": name, "language": known[own].language, "gender": known[own].gender}
        | (_details(own, exported[own]) if detailed else {})
        for name, own in served.voice_names().items()
    ]
    return {"voices": voices}


def _details(name: str, voice: ExportedVoice) -> dict[str, Any]:
    sample = {"sample": f"/v1/audio/voices/{name}/sample"} if voice.sample else {}
    return {"sample_rate": voice.sample_rate, **sample}


def render_voices(served: Served) -> Voices:
    voices: list[Voice] = [{"name": v.name, "language": v.language, "gender": v.gender} for v in served.voices]
    return {"voices": voices, "defaults_by_language": served.defaults_by_language}
