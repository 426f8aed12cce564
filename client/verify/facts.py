"""Facts about the models: published values, and the answers of a trusted server.

A file of facts is JSON like ``known/hub.json``. It has questions for every server, and ``recordings`` with the answers
of a server in each precision.
"""

import base64
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from client.api import CommandError

PRECISIONS = ("int8", "bf16", "fp16", "fp32")
_KNOWN = Path(__file__).parent / "known"
NAMED = tuple(sorted(path.stem for path in _KNOWN.glob("*.json")))

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Text:
    """A text to embed; ``ids`` are its published token ids with special tokens, if any."""

    text: str
    ids: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Cosine:
    """The published cosine of two texts."""

    first: str
    second: str
    cosine: float


@dataclass(frozen=True)
class Ranking:
    """Documents for a query, with their published ``scores``; ``best`` is the index of the answer, or -1."""

    query: str
    documents: list[str]
    scores: list[float] = field(default_factory=list)
    best: int = -1


@dataclass(frozen=True)
class Weighed:
    """A text with the published weights of its tokens, if any: ``values`` by ``indices``, as they are answered."""

    text: str
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @property
    def weights(self) -> dict[int, float]:
        return dict(zip(self.indices, self.values, strict=True))


@dataclass(frozen=True)
class Speech:
    """Sentences by language, each in phrases separated by ``|``, and limits for Whisper's transcripts of each voice.

    Whisper gets the ``voices``, or all. ``language`` is whether it detects the language. ``word_error`` is the largest
    error rate of these voices together, ``voice_word_error`` the largest of one voice. Words lie within ``seconds`` of
    their phrase. ``pause`` and ``sentence_pause`` are the silence between phrases and sentences, in seconds.
    """

    sentences: dict[str, list[str]] = field(default_factory=dict)
    voices: list[str] = field(default_factory=list)
    language: bool = True
    word_error: float | None = 0.05
    voice_word_error: float | None = 0.15
    seconds: float | None = 0.3
    pause: float = 0.15
    sentence_pause: float = 0.25

    def voices_for_whisper(self, said: Iterable[str]) -> list[str]:
        """The voices whose speech Whisper gets."""
        return [voice for voice in said if not self.voices or voice in self.voices]


@dataclass(frozen=True)
class People:
    """Limits for transcripts of the product's recordings of people, all of a language in one file.

    ``word_error`` has the largest error rate of each language to check. The first and last word of each recording lie
    within ``seconds`` of its start and end, the others inside.
    """

    word_error: dict[str, float] = field(default_factory=dict)
    seconds: float | None = 0.5


@dataclass(frozen=True)
class Spoken:
    """A spoken sentence: its length, and its loudness relative to full scale."""

    seconds: float
    decibels: float


@dataclass(frozen=True)
class Heard:
    """Whisper's transcript of a clip; ``text`` is None if it varied.

    Whisper samples doubtful clips, unless the request has a ``temperature``. At a low one it nearly always returns the
    likeliest text.
    """

    language: str
    text: str | None
    logprob: float
    temperature: float = 0.0


@dataclass(frozen=True)
class Recording:
    """One server's answers to every text, ranking, clip (by model) and sentence (by voice), in the questions' order.

    Vectors are float32 in base64. ``limits`` has tolerances for servers of the same precision: ``vector`` (1 - cosine),
    ``logit`` of a score, ``logprob`` of a clip and ``logprobs`` (the mean of all), ``length`` of a sentence (a share)
    and its ``loudness`` (dB).
    """

    precision: str
    limits: dict[str, float]
    tokens: list[int]
    vectors: list[str]
    ranking_tokens: list[int]
    scores: list[list[float]]
    heard: dict[str, list[Heard]]
    spoken: dict[str, list[Spoken]]

    def vector(self, place: int) -> Vector:
        """The vector of a text by its index, float32 [width]."""
        return np.frombuffer(base64.b64decode(self.vectors[place]), "<f4")

    def without_sampled(self) -> "Recording":
        """The recording without the texts of clips that were sampled, which may vary."""
        heard = {
            model: [replace(one, text=None) if one.temperature else one for one in some]
            for model, some in self.heard.items()
        }
        return replace(self, heard=heard)


@dataclass(frozen=True)
class Facts:
    """Questions and known answers. ``cosine_limits``, ``weight_limits`` (a share of the weights' length) and
    ``logit_limits`` are tolerances of published numbers, by precision. ``model`` is the one whose answers were
    recorded, if they are not those of the contract's models.
    """

    about: str
    model: str = ""
    sources: list[str] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    cosines: list[Cosine] = field(default_factory=list)
    cosine_limits: dict[str, float] = field(default_factory=dict)
    alike: list[list[str]] = field(default_factory=list)
    weighed: list[Weighed] = field(default_factory=list)
    weight_limits: dict[str, float] = field(default_factory=dict)
    rankings: list[Ranking] = field(default_factory=list)
    logit_limits: dict[str, float] = field(default_factory=dict)
    speech: Speech = field(default_factory=Speech)
    people: People = field(default_factory=People)
    recordings: list[Recording] = field(default_factory=list)

    def to_json(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def of_any_model(self) -> "Facts":
        """The facts that are not about particular models."""
        return replace(self.without({"ids", "cosines", "weights", "scores"}), recordings=[])

    def without(self, parts: Collection[str]) -> "Facts":
        """The facts without those that ``parts`` name."""
        of_texts: dict[str, Any] = {"ids": []} if "ids" in parts else {}
        of_rankings: dict[str, Any] = {"scores": []} if "scores" in parts else {}
        of_rankings |= {"best": -1} if "best" in parts else {}
        limits: dict[str, Any] = dict.fromkeys({"word_error", "voice_word_error", "seconds"} & set(parts))
        limits |= {"language": False} if "language" in parts else {}
        people: dict[str, Any] = {"seconds": None} if "people_seconds" in parts else {}
        people |= {"word_error": {}} if "people_word_error" in parts else {}
        return replace(
            self,
            texts=[replace(text, **of_texts) for text in self.texts],
            rankings=[replace(ranking, **of_rankings) for ranking in self.rankings],
            cosines=[] if "cosines" in parts else self.cosines,
            alike=[] if "alike" in parts else self.alike,
            weighed=[Weighed(each.text) for each in self.weighed] if "weights" in parts else self.weighed,
            speech=replace(self.speech, **limits),
            people=replace(self.people, **people),
            recordings=[each.without_sampled() for each in self.recordings] if "sampled" in parts else self.recordings,
        )


def path_of(name: str) -> Path:
    """The path of the product's facts of this name; any other name is a path."""
    return _KNOWN / f"{name}.json" if name in NAMED else Path(name)


def load(name: str) -> Facts:
    """The facts of a name or file; ``CommandError`` if it cannot be read."""
    try:
        return _facts(orjson.loads(path_of(name).read_bytes()))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}; facts are {', '.join(NAMED)} or a file") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CommandError(f"{name}: is no file of facts: {error}") from None


def _facts(values: Mapping[str, Any]) -> Facts:
    lists: dict[str, Any] = {"texts": Text, "cosines": Cosine, "weighed": Weighed, "rankings": Ranking}
    questions = {name: [made(**each) for each in values.get(name, [])] for name, made in lists.items()}
    speech, people = Speech(**values.get("speech", {})), People(**values.get("people", {}))
    recordings = [_recording(each) for each in values.get("recordings", [])]
    return Facts(**{**values, **questions, "speech": speech, "people": people, "recordings": recordings})


def _recording(values: Mapping[str, Any]) -> Recording:
    heard = {model: [Heard(**each) for each in some] for model, some in values["heard"].items()}
    spoken = {voice: [Spoken(**each) for each in some] for voice, some in values["spoken"].items()}
    return Recording(**{**values, "heard": heard, "spoken": spoken})
