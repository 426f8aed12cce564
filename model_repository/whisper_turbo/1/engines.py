"""What runs a Whisper: the parts that the recognizer asks for, whoever computes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
# Of the encoder's output.
SECONDS_PER_FRAME = 0.02


@dataclass(frozen=True)
class Encoded:
    """A window's encoder output [1, frames, width], and the keys and values that a graph's decoder attends to."""

    output: Float
    attended: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Decoded:
    """The text ``tokens`` of a window, the sum of their log probabilities and the end's, and that of no speech.

    ``queries`` [alignment heads, task tokens and text tokens, width of a head] and ``probabilities`` [text tokens] are
    there where the engine aligns by them.
    """

    tokens: list[int]
    logprob: float
    no_speech_prob: float
    probabilities: list[float] = field(default_factory=list)
    queries: Float | None = None

    @property
    def avg_logprob(self) -> float:
        """The mean over the tokens, as OpenAI's Whisper has it: the end counts too."""
        return self.logprob / (len(self.tokens) + 1)


@dataclass(frozen=True)
class Aligned:
    """Of each text token of a window the second at which it starts, and of the end, [tokens + 1]; and probabilities."""

    starts: NDArray[np.float64]
    probabilities: Sequence[float]


class Engine(Protocol):
    """Computes windows of one model; what is asked of several windows has one entry for each."""

    # Whether windows are encoded faster together than one by one.
    encodes_together: bool
    # How many windows it decodes together at most.
    decodes_together: int

    def encode(self, features: Float) -> list[Encoded]:
        """Features [windows, mel bins, frames]."""
        ...

    def languages(self, windows: Sequence[Encoded]) -> list[dict[int, float]]:
        """The probability of each language token, the likeliest first."""
        ...

    def decode(
        self, windows: Sequence[Encoded], prompts: Sequence[list[int]], most: int, temperature: float
    ) -> list[Decoded]:
        """At most so many tokens behind prompts of one length; above a temperature of 0, the best of some samples."""
        ...

    def align(
        self, windows: Sequence[Encoded], task: list[int], decoded: Sequence[Decoded], seconds: Sequence[float]
    ) -> list[Aligned]:
        """Where the tokens are in so many seconds of each window; the ``task`` is that of them all."""
        ...
