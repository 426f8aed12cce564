"""The voices, and the audio formats."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from frontend.catalogue.exports import read_export

TRITON_PREFIX = "piper_"
# The Triton model of all voices of Kokoro.
KOKORO = "kokoro"


@dataclass(frozen=True)
class Voice:
    """A voice of Piper, which is a Triton model of its own, or one ``of_kokoro``, which shares a model."""

    name: str
    language: str
    gender: str
    of_kokoro: bool = False

    @property
    def triton_model(self) -> str:
        return KOKORO if self.of_kokoro else f"{TRITON_PREFIX}{self.name}"


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
# Content type by audio format: those of the contract, and those of an extension.
AUDIO_FORMATS: Mapping[str, str] = {"wav": "audio/wav", "mp3": "audio/mpeg"}
# Players know Opus by its container: audio/opus means RTP (RFC 7587, RFC 7845).
MORE_AUDIO_FORMATS: Mapping[str, str] = {
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "pcm": "audio/pcm",
}
# The gender of an added voice whose file names none.
UNKNOWN = "unknown"
# In the ``voice.json`` of an added voice: its language and gender.
ADDED = "added"


def exported_voices(repository: Path) -> tuple[Voice, ...]:
    """The voices of Kokoro in a model repository, and those of Piper that an operator has added.

    One of Kokoro's replaces the catalogue's of that name. A Kokoro that could not be exported has its voices too, so
    that these are left out with it.
    """
    kokoro = {voice.name: voice for voice in _of_kokoro(repository)}
    return (*kokoro.values(), *(voice for voice in _added(repository) if voice.name not in kokoro))


def _of_kokoro(repository: Path) -> Iterator[Voice]:
    for voice in read_export(repository, KOKORO).voices:
        yield Voice(voice["name"], voice["language"], voice["gender"], of_kokoro=True)


def _added(repository: Path) -> Iterator[Voice]:
    for path in sorted(repository.glob(f"{TRITON_PREFIX}*/1/voice.json")):
        model = path.parents[1].name
        name = model.removeprefix(TRITON_PREFIX)
        if name in VOICES or read_export(repository, model).failed:
            continue
        try:
            added = json.loads(path.read_text(encoding="utf-8"))[ADDED]
            yield Voice(name, added["language"], added["gender"])
        except (OSError, ValueError, KeyError, TypeError):
            # An unfinished export, or a voice that an earlier version has left.
            continue
