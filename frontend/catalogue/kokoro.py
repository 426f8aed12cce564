"""The voices of Kokoro: those of the demo, and those that the settings file adds in ``[voices.NAME]``.

The first letter of a style of Kokoro is the speaker's language, the second the gender: ``if_sara``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue.voices import VOICES, Voice

DEMO, HUB = "demo", "hub"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_STYLE = re.compile(r"([abefhijpz])([fm])_[a-z0-9_]{1,40}")
_LANGUAGES = {"a": "en", "b": "en", "e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt", "z": "zh"}
_GENDERS = {"f": "female", "m": "male"}
# The voice of espeak-ng by language. Its phonemes of Japanese and Chinese are none that Kokoro has learned.
_ESPEAK = {"de": "de", "en": "en-us", "es": "es", "fr": "fr", "hi": "hi", "it": "it", "pt": "pt-br"}
_BRITISH = "en-gb-x-rp"
_KEYS = ("kokoro", "from", "language")


@dataclass(frozen=True)
class Speaker:
    """A ``voice`` that speaks in a ``style`` of Kokoro, whose file is in ``source``: ``DEMO``, ``HUB`` or a folder."""

    voice: Voice
    style: str
    source: str = DEMO

    @classmethod
    def of(cls, name: str, style: str, source: str = DEMO, language: str = "") -> "Speaker":
        """A speaker of the ``language`` (default: the style's). Raises ``ValueError`` for what Kokoro cannot speak."""
        if not (match := _STYLE.fullmatch(style)):
            raise ValueError(f"kokoro must be a style such as af_heart, not {style!r}")
        language = language or _LANGUAGES[match[1]]
        if language not in _ESPEAK:
            raise ValueError(
                f"Kokoro speaks {', '.join(_ESPEAK)} here: espeak-ng has no phonemes of {language!r} for it"
            )
        return cls(Voice(name, language, _GENDERS[match[2]], of_kokoro=True), style, source)

    @property
    def espeak_voice(self) -> str:
        """The voice of espeak-ng that gives the phonemes."""
        return _BRITISH if self.style[0] == "b" and self.voice.language == "en" else _ESPEAK[self.voice.language]

    @property
    def accent(self) -> str:
        """The speaker's language, if it is another than the voice's."""
        own = _LANGUAGES[self.style[0]]
        return own if own != self.voice.language else ""


# No German has lent Kokoro a voice. Of the others, this one is understood best.
DEMO_SPEAKERS = tuple(
    Speaker.of(name, style, language=VOICES[name].language)
    for name, style in {
        "paola": "if_sara",
        "riccardo": "im_nicola",
        "amy": "af_heart",
        "thorsten": "em_alex",
        "siwis": "ff_siwis",
    }.items()
)


def speakers_of(table: Mapping[str, Any]) -> tuple[Speaker, ...]:
    """The speakers of the table ``[voices]``; raises ``ValueError`` with a sentence for the first that cannot be."""
    names = [name.lower() for name in table]
    if double := next((name for name in table if names.count(name.lower()) > 1), ""):
        raise ValueError(f"{double}: there is a voice {double.lower()} already")
    return tuple(_speaker(name, given) for name, given in table.items())


def _speaker(name: str, given: Any) -> Speaker:
    if reason := misnamed(name):
        raise ValueError(f"{name}: {reason}")
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise ValueError(f'{name}: must be a table of texts, such as kokoro = "af_bella" and from = "hub"')
    if unknown := given.keys() - set(_KEYS):
        raise ValueError(f"{name}: there is no {min(unknown)!r}; there are {', '.join(_KEYS)}")
    if "kokoro" not in given:
        raise ValueError(f"{name}: kokoro is missing, the name of a style such as af_bella")
    try:
        return Speaker.of(name, given["kokoro"], given.get("from", DEMO), given.get("language", ""))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def misnamed(name: str) -> str:
    """Why an added voice cannot have this name, or empty."""
    if not _NAME.fullmatch(name):
        return "a voice's name has 1 to 40 letters, digits, - and _ of ASCII, and begins with a letter or digit"
    # "all" is the setting that serves all voices.
    if name.lower() in (*VOICES, "all"):
        return f"there is a voice {name.lower()} already"
    return ""
