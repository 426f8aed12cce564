"""The recognizer's input, output and intermediate results per window."""

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from engines import Decoded, Encoded
from features import SAMPLE_RATE
from numpy.typing import NDArray
from transcript import LANGUAGES_OF_MANY_TOKENS, Word, compression_ratio, says_twice

# The lowest sampling temperature. Lower ones would overflow float32 scores, and give the same result as 0.
_LEAST_TEMPERATURE = 0.001
# OpenAI's thresholds: a transcript beyond the first two is decoded again; above the third there may be no speech.
_LEAST_LOGPROB = -1.0
_MOST_COMPRESSION = 2.4
_NO_SPEECH = 0.6
# Attempts in a row after which none is better.
_WORSE = 2


@dataclass(frozen=True)
class Window:
    """One request: mono audio [samples] at 16 kHz, with options. An empty language is detected, or one ``among`` some.

    ``translate`` is whether its words are to be English, whatever is spoken.
    """

    audio: NDArray[np.float32]
    language: str = ""
    prompt: str = ""
    temperature: float = 0.0
    translate: bool = False
    among: Collection[str] = ()

    @property
    def sampling_temperature(self) -> float:
        """The temperature, or 0 (no sampling) if it is too low for sampling."""
        return self.temperature if self.temperature >= _LEAST_TEMPERATURE else 0.0


@dataclass
class Transcript:
    language: str
    words: list[Word]
    avg_logprob: float
    no_speech_prob: float


@dataclass(frozen=True)
class Attempt:
    """One decoding of a window; ``endless`` if it reached the most tokens."""

    decoded: Decoded
    text: str
    endless: bool = False

    @property
    def repeats_itself(self) -> bool:
        return compression_ratio(self.text) > _MOST_COMPRESSION

    @property
    def speechless(self) -> bool:
        """Whether the model detects no speech, however sure it is of the text."""
        return self.decoded.no_speech_prob > _NO_SPEECH

    @property
    def silent(self) -> bool:
        """Whether the window seems to have no speech."""
        return self.speechless and self.decoded.avg_logprob < _LEAST_LOGPROB

    @property
    def passes(self) -> bool:
        """Whether no further decoding is needed."""
        return self.silent or (self.decoded.avg_logprob >= _LEAST_LOGPROB and not self.repeats_itself)


@dataclass
class Job:
    """A window and the results of each step; ``attempts`` are in the order of their temperatures.

    ``samples`` is how long it was encoded, with silence at its end; ``is_short`` if there was room for more.
    """

    window: Window
    encoded: Encoded
    samples: int
    is_short: bool
    # In seconds of the caller's window, which may be cut where the language changes.
    start: float = 0.0
    # The probability of each language's token, if the language has to be detected.
    ranking: dict[int, float] = field(default_factory=dict)
    language: str = ""
    language_logprob: float = 0.0
    prompt: list[int] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    # Start and end of speech without words, in seconds of the window.
    unheard: tuple[float, float] | None = None

    @property
    def seconds(self) -> float:
        return len(self.window.audio) / SAMPLE_RATE

    @property
    def seed(self) -> int | None:
        """Of samples: with a temperature of 0, the same recording has the same transcript each time."""
        return None if self.window.sampling_temperature else zlib.crc32(self.window.audio.tobytes())

    @property
    def language_of_words(self) -> str:
        return "en" if self.window.translate else self.language

    @property
    def needs_many_tokens(self) -> bool:
        return self.language_of_words in LANGUAGES_OF_MANY_TOKENS

    @property
    def wants_silence(self) -> bool:
        """Whether its last attempt may be the result of too little silence, in which Whisper repeats itself."""
        last = self.attempts[-1]
        return self.is_short and (last.endless or says_twice(last.text, self.language_of_words) or not last.passes)

    @property
    def settled(self) -> bool:
        """Whether no other attempt is needed."""
        return not (self.wants_silence or self.doubtful)

    @property
    def doubtful(self) -> bool:
        """Whether to decode it again at a higher temperature, unless the caller chose one.

        Two attempts in a row that are less likely than one that does not repeat itself are enough.
        """
        if self.window.sampling_temperature or self.attempts[-1].passes:
            return False
        plain = [attempt.decoded.avg_logprob for attempt in self.attempts if not attempt.repeats_itself]
        latest = [attempt.decoded.avg_logprob for attempt in self.attempts[-_WORSE:]]
        return len(self.attempts) <= _WORSE or not plain or max(latest) >= max(plain)

    @property
    def best(self) -> Attempt:
        """The last attempt if it passes, else the likeliest one, if possible one that does not repeat itself."""
        if self.attempts[-1].passes:
            return self.attempts[-1]
        candidates = [attempt for attempt in self.attempts if not attempt.repeats_itself] or self.attempts
        return max(candidates, key=lambda attempt: attempt.decoded.avg_logprob)

    @property
    def logprob_with_language(self) -> float:
        """The mean log probability of the language and the tokens of the first attempt."""
        first = self.attempts[0].decoded
        return (self.language_logprob + first.logprob) / (len(first.tokens) + 2)

    def transcript(self) -> Transcript:
        decoded = self.best.decoded
        return Transcript(self.language, self.words, decoded.avg_logprob, decoded.no_speech_prob)


def joined(jobs: Sequence[Job]) -> Transcript:
    """The transcript of a window that was cut into these parts."""
    parts = [job.transcript() for job in jobs]
    if len(parts) == 1:
        return parts[0]
    seconds = [job.seconds for job in jobs]
    return Transcript(
        max(zip(seconds, (part.language for part in parts), strict=True))[1],
        [word.later(job.start) for job, part in zip(jobs, parts, strict=True) for word in part.words],
        float(np.average([part.avg_logprob for part in parts], weights=seconds)),
        min(part.no_speech_prob for part in parts),
    )


class InvalidWindowError(ValueError):
    """An invalid request. Callers may see the message."""
