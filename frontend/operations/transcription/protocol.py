"""Transcription requests and answers of the developer and the mobile endpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from frontend.catalogue.extensions import TRANSCRIPT_USAGE
from frontend.catalogue.models import TRANSCRIPTIONS, Served
from frontend.errors import InvalidRequest
from frontend.http.form import Form
from frontend.operations.transcription.answers import Segment, Word
from frontend.parameters.transcription import FILE, MOBILE, PARAMETERS, SRT, VTT
from frontend.processes.shared_memory import SharedBytes

_ENGLISH = "en"
_GRANULARITIES, _LANGUAGES = "timestamp_granularities[]", "languages[]"
# The formats that a stream of events can have.
_STREAMED = ("json", "text")


@dataclass(frozen=True)
class TranscriptionRequest:
    """One file to transcribe. Empty ``language`` and ``prompt`` mean none; ``file_field`` names the file in errors.

    With ``languages``, of which there are several, ``language`` is empty. ``keywords`` are words that may be said.
    ``segments`` is whether the mobile endpoint's answer has segments, ``usage`` whether JSON says what is charged,
    ``translate`` whether the text is to be English.
    """

    file: SharedBytes = field(repr=False)
    model: str
    file_field: str = FILE.name
    language: str = ""
    prompt: str = ""
    response_format: str = "json"
    temperature: float = 0.0
    words: bool = False
    segments: bool = False
    stream: bool = False
    usage: bool = False
    translate: bool = False
    languages: Sequence[str] = ()
    keywords: Sequence[str] = ()

    @property
    def language_of_text(self) -> str:
        """The language of the text, if the request tells it."""
        return _ENGLISH if self.translate else self.language


@dataclass(frozen=True)
class Transcription:
    """The answer: ``duration`` in seconds, ``words`` None unless they were asked for."""

    text: str
    language: str
    duration: float
    segments: Sequence[Segment] = ()
    words: Sequence[Word] | None = None


def parse_openai(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the developer endpoint's form."""
    given = PARAMETERS.read_form(form.fields, form.file, served)
    words, stream = given[_GRANULARITIES], given.get("stream", False)
    if words and given["response_format"] != "verbose_json":
        raise InvalidRequest(f"{_GRANULARITIES} needs response_format=verbose_json", param=_GRANULARITIES)
    if stream and given["response_format"] not in _STREAMED:
        raise InvalidRequest(f"stream=true needs response_format={' or '.join(_STREAMED)}", param="response_format")
    request, languages = request_of(given, served), given.get(_LANGUAGES, [])
    if languages and given["language"]:
        raise InvalidRequest(f"language and {_LANGUAGES} exclude each other", param=_LANGUAGES)
    language = languages[0] if len(languages) == 1 else given["language"] or ""
    return replace(
        request,
        language=language,
        languages=[] if language else languages,
        keywords=given.get("keywords[]", []),
        words=request.words or "word" in words,
        stream=stream,
    )


def request_of(given: Mapping[str, Any], served: Served) -> TranscriptionRequest:
    """What transcriptions and translations have in common."""
    return TranscriptionRequest(
        file=given["file"],
        model=given["model"],
        prompt=given["prompt"] or "",
        response_format=given["response_format"],
        temperature=float(given["temperature"]),
        words=given["response_format"] in (SRT, VTT),
        usage=TRANSCRIPT_USAGE in served.extensions,
    )


def parse_mobile(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the mobile endpoint's form."""
    given = MOBILE.read_form(form.fields, form.file, served.contract)
    return TranscriptionRequest(
        file=given[MOBILE.file.name],
        model=served.ids(TRANSCRIPTIONS)[0],
        file_field=MOBILE.file.name,
        language=given["language"] or "",
        segments=given["with_segments"],
    )
