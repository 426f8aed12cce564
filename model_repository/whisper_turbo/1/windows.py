"""What the recognizer is given, what it answers, and what it keeps of a window on the way."""

from dataclasses import dataclass, field

import numpy as np
from encoders import Encoded
from numpy.typing import NDArray
from transcript import Segment, Word

# CTranslate2 divides float32 scores by the temperature: less overflows, and would decide as 0 does.
_LEAST_TEMPERATURE = 0.001


@dataclass(frozen=True)
class Window:
    """One request: mono audio [samples] at 16 kHz and how to read it; an empty language is detected."""

    audio: NDArray[np.float32]
    language: str = ""
    prompt: str = ""
    temperature: float = 0.0
    word_timestamps: bool = False

    @property
    def sampling_temperature(self) -> float:
        """The temperature, or 0 (greedy) where it is too low to sample at."""
        return self.temperature if self.temperature >= _LEAST_TEMPERATURE else 0.0


@dataclass
class Transcript:
    """The answer to one window."""

    language: str
    segments: list[Segment]
    avg_logprob: float
    no_speech_prob: float
    words: list[Word] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


@dataclass
class Job:
    """A window on its way, padded to ``samples``: what its encoder gives, the prompt that starts its decoding, and what
    comes of that.
    """

    window: Window
    samples: int
    language: str
    encoded: Encoded = field(init=False)
    prompt: list[int] = field(init=False)
    result: Transcript = field(init=False)

    @property
    def frames(self) -> int:
        return self.encoded.output.shape[1]


class InvalidWindowError(ValueError):
    """A window that the caller got wrong; the message may be shown."""
