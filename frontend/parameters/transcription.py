"""What ``POST /v1/audio/transcriptions`` and the mobile endpoint take."""

import json
from dataclasses import dataclass
from typing import Any

from frontend.catalogue.extensions import SUBTITLES, TRANSCRIPT_HINTS, TRANSCRIPT_STREAMING
from frontend.catalogue.languages import CODES, iso_code
from frontend.catalogue.models import TRANSCRIPTIONS, Served
from frontend.parameters.forms import Decimal, File, FormTable, Repeated, Several, Switch
from frontend.parameters.kinds import Choice, ModelName, Schema, Text, one_of

LARGEST_FILE = 25 * 1024 * 1024  # bytes
FORMATS = ("json", "verbose_json", "text")
SRT, VTT = "srt", "vtt"
LONGEST_PROMPT = 1024
# The most characters of an unknown language that the error repeats.
_SHOWN = 40


def formats(served: Served) -> tuple[str, ...]:
    """The values of ``response_format``."""
    return (*FORMATS, SRT, VTT) if SUBTITLES in served.extensions else FORMATS


@dataclass(frozen=True, kw_only=True)
class Language(Text):
    """The ISO code of a language that Whisper knows, in upper or lower case."""

    def check(self, value: Any, served: Served) -> str:
        if (code := super().check(value, served).lower()) not in CODES:
            shown = json.dumps(value[:_SHOWN], ensure_ascii=False)
            raise self.refusal(f'{shown} is not known; it must be an ISO-639-1 code such as "en" or "de"')
        return iso_code(code)

    def values(self, served: Served) -> Schema:
        return one_of(sorted(CODES))


@dataclass(frozen=True, kw_only=True)
class Languages(Repeated):
    """Any number of languages."""

    def check(self, value: list[str], served: Served) -> list[str]:
        one = Language(self.name)
        return list(dict.fromkeys(one.check(each, served) for each in value))

    def values(self, served: Served) -> Schema:
        return {"type": "array", "items": Language(self.name).values(served)}


@dataclass(frozen=True, kw_only=True)
class Keywords(Repeated):
    """Words and phrases of at most ``longest`` characters together."""

    longest: int

    def check(self, value: list[str], served: Served) -> list[str]:
        words = [" ".join(each.split()) for each in value]
        if sum(map(len, words)) > self.longest:
            raise self.refusal(f"have more than {self.longest} characters together")
        return [each for each in words if each]

    def values(self, served: Served) -> Schema:
        return {"type": "array", "items": {"type": "string", "maxLength": self.longest}}


@dataclass(frozen=True, kw_only=True)
class Stream(Switch):
    """Whether the text is sent in parts."""

    def ignore(self, value: str) -> None:
        if value.lower() not in ("", "false", "0"):
            raise self.refusal("must be false: this endpoint sends no events")


_RECORDING = "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP or AMR, detected by content; at most 25 MB."
FILE = File("file", _RECORDING, largest=LARGEST_FILE)
MODEL = ModelName(
    description="`stt-1` is fast; `stt-1-hd` is for noise, accents and telephones.",
    named=lambda served: served.model_names(TRANSCRIPTIONS),
    default=lambda served: served.ids(TRANSCRIPTIONS)[0],
)
LANGUAGE = Language("language", "ISO-639-1 code, case does not matter; detected if absent.")
# The fields that translations have too.
OF_TRANSLATIONS_TOO = (
    Text("prompt", "Text that helps with names and special words.", longest=LONGEST_PROMPT),
    Choice("response_format", names=formats, default="json"),
    Decimal("temperature", least=0, most=1, default=0),
)
_STREAM = Stream(
    "stream",
    "Send the text in parts, as server-sent events; needs `response_format` json or text.",
    needs=TRANSCRIPT_STREAMING,
)
OF_CLIENTS = (
    "user",
    "stream",  # only false
    "include",
    "include[]",
    "chunking_strategy",
    "chunking_strategy[type]",
    "chunking_strategy[threshold]",
    "chunking_strategy[prefix_padding_ms]",
    "chunking_strategy[silence_duration_ms]",
    "keywords",
    "keywords[]",
    "vad_filter",
)
PARAMETERS = FormTable(
    FILE,
    MODEL,
    LANGUAGE,
    *OF_TRANSLATIONS_TOO,
    Several(
        "timestamp_granularities[]",
        "Needs response_format=verbose_json. Brackets are optional.",
        names=("word", "segment"),
    ),
    Keywords(
        "keywords[]",
        "Names and words that may be said. Brackets are optional.",
        longest=LONGEST_PROMPT,
        needs=TRANSCRIPT_HINTS,
    ),
    Languages("languages[]", "The languages to choose from, instead of `language`.", needs=TRANSCRIPT_HINTS),
    _STREAM,
    of_clients=OF_CLIENTS,
)
MOBILE = FormTable(File("audio", _RECORDING, largest=LARGEST_FILE), LANGUAGE, Switch("with_segments"))
