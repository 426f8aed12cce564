"""Transcription requests and answers of the developer and the mobile endpoints."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from frontend.catalogue import parameters
from frontend.catalogue.extensions import SUBTITLES, TRANSCRIPT_STREAMING, TRANSCRIPT_USAGE
from frontend.catalogue.models import TRANSCRIPTIONS, Served
from frontend.catalogue.parameters import FILE, GRANULARITY
from frontend.errors import InvalidRequest
from frontend.http import fields
from frontend.http.form import Form, Shape
from frontend.operations.transcription.languages import CODES, iso_code
from frontend.processes.shared_memory import SharedBytes

LARGEST_FILE = 25 * 1024 * 1024  # bytes
MOBILE_FILE = "audio"
FORMATS = ("json", "verbose_json", "text")
SRT, VTT = "srt", "vtt"
_ENGLISH = "en"
# The formats that a stream of events can have.
STREAMED = ("json", "text")
GRANULARITIES = ("word", "segment")
LONGEST_PROMPT = 1024
# The most characters of an unknown language that the error repeats.
_SHOWN = 40
_IN_BRACKETS = f"{GRANULARITY}[]"
_SPELLINGS = (GRANULARITY, _IN_BRACKETS)
MOBILE_FORM = Shape(MOBILE_FILE, ("language", "with_segments"), LARGEST_FILE)
# The text fields for translations.
_TRANSLATED = ("model", "prompt", "response_format", "temperature")
# Values of ``stream`` that ask for no events.
_OFF = ("", "false", "0")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# Possessive quantifiers: backtracking would take time with the square of a field's length.
_DECIMAL = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+", re.ASCII)


@dataclass(frozen=True)
class TranscriptionRequest:
    """One file to transcribe. Empty ``language`` and ``prompt`` mean none; ``file_field`` names the file in errors.

    ``segments`` is whether the mobile endpoint's answer has segments, ``usage`` whether JSON says what is charged,
    ``translate`` whether the text is to be English.
    """

    file: SharedBytes = field(repr=False)
    model: str
    file_field: str = FILE
    language: str = ""
    prompt: str = ""
    response_format: str = "json"
    temperature: float = 0.0
    words: bool = False
    segments: bool = False
    stream: bool = False
    usage: bool = False
    translate: bool = False

    @property
    def language_of_text(self) -> str:
        """The language of the text, if the request tells it."""
        return _ENGLISH if self.translate else self.language


@dataclass(frozen=True)
class Segment:
    """A segment of the transcript; times in seconds from the start of the file."""

    id: int
    start: float
    end: float
    text: str
    avg_logprob: float
    no_speech_prob: float


@dataclass(frozen=True)
class Word:
    """A word of the transcript; times in seconds from the start of the file."""

    start: float
    end: float
    word: str
    probability: float


@dataclass(frozen=True)
class Transcription:
    """The answer: ``duration`` in seconds, ``words`` None unless they were asked for."""

    text: str
    language: str
    duration: float
    segments: Sequence[Segment] = ()
    words: Sequence[Word] | None = None


def openai_form(served: Served) -> Shape:
    """The fields of the developer endpoint's form, including ignored ones."""
    texts = [name for name in parameters.meant(TRANSCRIPTIONS, served) if name != FILE]
    return Shape(FILE, (*texts, *parameters.ignored(TRANSCRIPTIONS, served)), LARGEST_FILE)


def formats(served: Served) -> tuple[str, ...]:
    """The values of ``response_format``."""
    return (*FORMATS, SRT, VTT) if SUBTITLES in served.extensions else FORMATS


def translation_form(served: Served) -> Shape:
    """The fields of the form for translations, including ignored ones."""
    return Shape(FILE, (*_TRANSLATED, *ignored_in_translations(served)), LARGEST_FILE)


def ignored_in_translations(served: Served) -> tuple[str, ...]:
    """The parameters that translations accept and ignore: those of transcriptions, which alone are streamed."""
    unstreamed = replace(served, extensions=served.extensions - {TRANSCRIPT_STREAMING})
    return parameters.ignored(TRANSCRIPTIONS, unstreamed)


def _scalars(texts: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Text fields by name, each given once."""
    scalars: dict[str, str] = {}
    for name, value in texts:
        if name in scalars:
            raise InvalidRequest(f"parameter given twice: {name}", param=name)
        scalars[name] = value
    return scalars


def _collect(texts: Sequence[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """Scalar fields by name, and the granularities under either spelling."""
    scalars = _scalars([pair for pair in texts if pair[0] not in _SPELLINGS])
    granularities = [pair for pair in texts if pair[0] in _SPELLINGS]
    if len(dict(granularities)) > 1:
        raise InvalidRequest(f"{_IN_BRACKETS} is given with and without brackets", param=_IN_BRACKETS)
    return scalars, [value for _, value in granularities if value]


def parse_temperature(value: str | None) -> float:
    """A finite decimal number from 0 to 1; absent is 0."""
    if value is None:
        return 0.0
    number = float(value) if _DECIMAL.fullmatch(value) else math.nan
    if not 0 <= number <= 1:
        raise InvalidRequest("temperature must be a number from 0 to 1", param="temperature")
    return number


def parse_language(value: str | None) -> str:
    """The ISO code of a language that Whisper knows, in upper or lower case; empty if absent."""
    code = (value or "").lower()
    if code and code not in CODES:
        shown = json.dumps(value[:_SHOWN], ensure_ascii=False) if value else ""
        raise InvalidRequest(
            f'language {shown} is not known; it must be an ISO-639-1 code such as "en" or "de"', param="language"
        )
    return iso_code(code)


def parse_stream(texts: Sequence[tuple[str, str]], *, allowed: bool) -> bool:
    """Whether events are asked for. Raises ``InvalidRequest`` if they are not ``allowed``."""
    values = [value.lower() for name, value in texts if name == "stream"]
    if not allowed:
        if any(value not in _OFF for value in values):
            raise InvalidRequest("stream must be false: this endpoint sends no events", param="stream")
        return False
    if any(value not in _OFF and value not in _BOOLEANS for value in values):
        raise InvalidRequest("stream must be true or false", param="stream")
    return any(value not in _OFF for value in values)


def parse_prompt(scalars: Mapping[str, str]) -> str:
    """Text of a limited length; empty if absent."""
    prompt = fields.text(scalars, "prompt") or ""
    if len(prompt) > LONGEST_PROMPT:
        raise InvalidRequest(f"prompt is longer than {LONGEST_PROMPT} characters", param="prompt")
    return prompt


def check_file(file: SharedBytes | None, name: str) -> SharedBytes:
    """The file part. Raises ``InvalidRequest`` if it is missing or empty."""
    if file is None:
        raise InvalidRequest(f"missing parameter: {name}", param=name)
    if not file.size:
        raise InvalidRequest(f"{name} is empty", param=name)
    return file


def parse_openai(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the developer endpoint's form."""
    stream = parse_stream(form.fields, allowed=TRANSCRIPT_STREAMING in served.extensions)
    ignored = parameters.ignored(TRANSCRIPTIONS, served)
    scalars, granularities = _collect([pair for pair in form.fields if pair[0] not in ignored])
    model = fields.model(scalars, served.model_names(TRANSCRIPTIONS))
    response_format = fields.choice(scalars, "response_format", formats(served), "json")
    for granularity in granularities:
        if granularity not in GRANULARITIES:
            raise InvalidRequest(f"{_IN_BRACKETS} must be word or segment", param=_IN_BRACKETS)
    if granularities and response_format != "verbose_json":
        raise InvalidRequest(f"{_IN_BRACKETS} needs response_format=verbose_json", param=_IN_BRACKETS)
    if stream and response_format not in STREAMED:
        raise InvalidRequest(f"stream=true needs response_format={' or '.join(STREAMED)}", param="response_format")
    return TranscriptionRequest(
        file=check_file(form.file, FILE),
        model=model,
        language=parse_language(fields.text(scalars, "language")),
        prompt=parse_prompt(scalars),
        response_format=response_format,
        temperature=parse_temperature(fields.text(scalars, "temperature")),
        words="word" in granularities or response_format in (SRT, VTT),
        stream=stream,
        usage=TRANSCRIPT_USAGE in served.extensions,
    )


def parse_translation(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the form for translations."""
    parse_stream(form.fields, allowed=False)
    scalars = _scalars([pair for pair in form.fields if pair[0] in _TRANSLATED])
    model = fields.model(scalars, served.translators())
    response_format = fields.choice(scalars, "response_format", formats(served), "json")
    return TranscriptionRequest(
        file=check_file(form.file, FILE),
        model=model,
        prompt=parse_prompt(scalars),
        response_format=response_format,
        temperature=parse_temperature(fields.text(scalars, "temperature")),
        words=response_format in (SRT, VTT),
        usage=TRANSCRIPT_USAGE in served.extensions,
        translate=True,
    )


def parse_mobile(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the mobile endpoint's form."""
    scalars = _scalars(form.fields)
    with_segments = (fields.text(scalars, "with_segments") or "false").lower()
    if with_segments not in _BOOLEANS:
        raise InvalidRequest("with_segments must be true or false", param="with_segments")
    return TranscriptionRequest(
        file=check_file(form.file, MOBILE_FILE),
        model=served.ids(TRANSCRIPTIONS)[0],
        file_field=MOBILE_FILE,
        language=parse_language(fields.text(scalars, "language")),
        segments=_BOOLEANS[with_segments],
    )
