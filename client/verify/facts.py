"""Facts about the models behind the API: what is published, and what a server that is trusted has answered.

A file of facts is JSON, as ``known/hub.json`` shows it. Questions are asked of every server; ``recordings`` hold the
answers of one, each in its precision.
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
    """A text to embed; ``ids`` are its token ids where they are published, special tokens included."""

    text: str
    ids: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Cosine:
    """How near two texts are to each other."""

    first: str
    second: str
    cosine: float


@dataclass(frozen=True)
class Ranking:
    """Documents for a query; ``scores`` are their published ones, ``best`` is the document that answers it, or -1."""

    query: str
    documents: list[str]
    scores: list[float] = field(default_factory=list)
    best: int = -1


@dataclass(frozen=True)
class Speech:
    """Sentences by language, each in phrases that ``|`` parts, and what becomes of them when each voice has said them.

    Whispers hear the ``voices``, or all. ``language`` is whether it is recognised. Of those voices together at most
    ``word_error`` of the words are heard wrong, of one ``voice_word_error``; words lie within ``seconds`` of where they
    were said. ``pause`` and ``sentence_pause`` are the silence between phrases and sentences, in seconds.
    """

    sentences: dict[str, list[str]] = field(default_factory=dict)
    voices: list[str] = field(default_factory=list)
    language: bool = True
    word_error: float | None = 0.05
    voice_word_error: float | None = 0.15
    seconds: float | None = 0.3
    pause: float = 0.15
    sentence_pause: float = 0.25

    def heard_of(self, said: Iterable[str]) -> list[str]:
        """Those of the voices that Whispers hear."""
        return [voice for voice in said if not self.voices or voice in self.voices]


@dataclass(frozen=True)
class People:
    """What becomes of the recordings of people that come with the product, those of each language in one file.

    At most ``word_error`` of a language's words are heard wrong; languages that it does not name are not asked for.
    The first and last word of each recording lie within ``seconds`` of where it begins and ends, others within it.
    """

    word_error: dict[str, float] = field(default_factory=dict)
    seconds: float | None = 0.5


@dataclass(frozen=True)
class Spoken:
    """A sentence as a voice said it: its length, its loudness below full scale, and ``sound.outline`` of it.

    There is no outline of a voice that says it in another way each time, as Piper's do.
    """

    seconds: float
    decibels: float
    outline: str = ""


@dataclass(frozen=True)
class Heard:
    """What a Whisper made of a clip; ``text`` None where it was not the same twice.

    What is doubtful is sampled, unless a ``temperature`` is asked for: a low one nearly always gives the likeliest.
    """

    language: str
    text: str | None
    logprob: float
    temperature: float = 0.0


@dataclass(frozen=True)
class Recording:
    """One server's answers: of every text, ranking, clip (by model) and sentence (by voice), in the questions' order.

    Vectors are float32 in base64. ``limits`` say how far a server of the same precision may be off: ``vector``
    (1 - cosine), ``logit`` of a score, ``logprob`` of a clip and ``logprobs`` in the mean of all, ``length`` of a
    sentence (a share) and its ``loudness`` (dB).
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
        """Of the text at this place, float32 [width]."""
        return np.frombuffer(base64.b64decode(self.vectors[place]), "<f4")

    def without_sampled(self) -> "Recording":
        """The same without the texts that were heard at a temperature, where even a low one gives several."""
        heard = {
            model: [replace(one, text=None) if one.temperature else one for one in some]
            for model, some in self.heard.items()
        }
        return replace(self, heard=heard)


@dataclass(frozen=True)
class Facts:
    """What is asked, and what is known of the answers. ``cosine_limits`` and ``logit_limits`` are how far published
    numbers may be missed, by precision.
    """

    about: str
    sources: list[str] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    cosines: list[Cosine] = field(default_factory=list)
    cosine_limits: dict[str, float] = field(default_factory=dict)
    alike: list[list[str]] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)
    logit_limits: dict[str, float] = field(default_factory=dict)
    speech: Speech = field(default_factory=Speech)
    people: People = field(default_factory=People)
    recordings: list[Recording] = field(default_factory=list)

    def to_json(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def without(self, parts: Collection[str]) -> "Facts":
        """The same without the published facts, or limits of speech, that these parts name."""
        of_texts: dict[str, Any] = {"ids": []} if "ids" in parts else {}
        of_rankings: dict[str, Any] = {"scores": []} if "scores" in parts else {}
        of_rankings |= {"best": -1} if "best" in parts else {}
        limits: dict[str, Any] = dict.fromkeys({"word_error", "voice_word_error", "seconds"} & set(parts))
        limits |= {"language": False} if "language" in parts else {}
        people: dict[str, Any] = {"seconds": None} if "people_seconds" in parts else {}
        people |= {"word_error": {}} if "people_word_error" in parts else {}
        return replace(
            self,
            texts=[replace(each, **of_texts) for each in self.texts],
            rankings=[replace(each, **of_rankings) for each in self.rankings],
            cosines=[] if "cosines" in parts else self.cosines,
            alike=[] if "alike" in parts else self.alike,
            speech=replace(self.speech, **limits),
            people=replace(self.people, **people),
            recordings=[each.without_sampled() for each in self.recordings] if "sampled" in parts else self.recordings,
        )


def path_of(name: str) -> Path:
    """The file of facts that come with the product; any other name is a path."""
    return _KNOWN / f"{name}.json" if name in NAMED else Path(name)


def load(name: str) -> Facts:
    """The facts of a name or a file; ``CommandError`` where there are none."""
    try:
        return _facts(orjson.loads(path_of(name).read_bytes()))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}; facts are {', '.join(NAMED)} or a file") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CommandError(f"{name}: is no file of facts: {error}") from None


def _facts(values: Mapping[str, Any]) -> Facts:
    lists: dict[str, Any] = {"texts": Text, "cosines": Cosine, "rankings": Ranking}
    given = {name: [made(**each) for each in values.get(name, [])] for name, made in lists.items()}
    speech, people = Speech(**values.get("speech", {})), People(**values.get("people", {}))
    recordings = [_recording(each) for each in values.get("recordings", [])]
    return Facts(**{**values, **given, "speech": speech, "people": people, "recordings": recordings})


def _recording(values: Mapping[str, Any]) -> Recording:
    heard = {model: [Heard(**each) for each in some] for model, some in values["heard"].items()}
    spoken = {voice: [Spoken(**each) for each in some] for voice, some in values["spoken"].items()}
    return Recording(**{**values, "heard": heard, "spoken": spoken})
