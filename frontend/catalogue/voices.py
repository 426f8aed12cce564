"""The voices, and the audio formats."""

from collections.abc import Mapping
from dataclasses import dataclass

TRITON_PREFIX = "piper_"


@dataclass(frozen=True)
class Voice:
    name: str
    language: str
    gender: str

    @property
    def triton_model(self) -> str:
        return f"{TRITON_PREFIX}{self.name}"


VOICES: Mapping[str, Voice] = {
    voice.name: voice
    for voice in (
        Voice("paola", "it", "female"),
        Voice("riccardo", "it", "male"),
        Voice("amy", "en", "female"),
        Voice("ryan", "en", "male"),
        Voice("thorsten", "de", "male"),
        Voice("siwis", "fr", "female"),
    )
}
# Each language's default voice.
DEFAULTS_BY_LANGUAGE: Mapping[str, str] = {"it": "paola", "en": "amy", "de": "thorsten", "fr": "siwis", "rm": "paola"}
# Content type by audio format.
AUDIO_FORMATS: Mapping[str, str] = {"wav": "audio/wav", "mp3": "audio/mpeg"}
