"""The answers of transcription."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from frontend.catalogue.extensions import TRANSCRIPT_USAGE
from frontend.catalogue.models import Served
from frontend.http.schemas import needs

Seconds = Annotated[float, {"description": "Seconds from the start of the audio."}]
Probability = Annotated[float, {"minimum": 0, "maximum": 1}]


@dataclass(frozen=True)
class Segment:
    """A segment of the transcript."""

    id: Annotated[int, {"minimum": 0}]
    start: Seconds
    end: Seconds
    text: str
    avg_logprob: float
    no_speech_prob: Probability


@dataclass(frozen=True)
class Word:
    """A word of the transcript."""

    start: Seconds
    end: Seconds
    word: str
    probability: Probability


class Usage(TypedDict):
    type: Literal["duration"]
    seconds: Annotated[float, {"minimum": 0, "description": "What is charged; 0 for a text without words."}]


def _tasks(served: Served) -> dict[str, Any]:
    tasks = ["transcribe", *(["translate"] if served.translators() else [])]
    return {"enum": tasks, "description": "With verbose_json, as all below; `words` on request."}


class Transcription(TypedDict):
    """The JSON of both formats: of alternatives, generated clients drop fields or fail."""

    text: str
    usage: NotRequired[Annotated[Usage, needs(TRANSCRIPT_USAGE)]]
    task: NotRequired[Annotated[str, _tasks]]
    language: NotRequired[str]
    duration: NotRequired[Annotated[float, {"minimum": 0, "description": "Seconds of audio."}]]
    segments: NotRequired[Sequence[Segment]]
    words: NotRequired[Sequence[Word]]


class MobileTranscription(TypedDict):
    """The JSON of the mobile endpoint."""

    text: str
    language: str
    duration_seconds: Annotated[float, {"minimum": 0}]
    model: str
    segments: Sequence[Segment]
