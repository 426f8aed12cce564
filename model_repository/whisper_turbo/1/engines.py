"""The interface of engines that compute Whisper for the recognizer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
# Seconds per frame of the encoder's output.
SECONDS_PER_FRAME = 0.02


@dataclass(frozen=True)
class Encoded:
    """A window's encoder output [1, frames, width], and the keys and values for the decoder of a graph.

    The output is an array, or an object that NumPy copies from a GPU into one.
    """

    output: Any
    attended: dict[str, Any] = field(default_factory=dict)

    def part(self, first: int, last: int) -> "Encoded":
        """The frames ``[first, last)``, which the encoder has seen within the window."""
        attended = {name: array[:, :, first:last] for name, array in self.attended.items()}
        return Encoded(np.asarray(self.output)[:, first:last], attended)


@dataclass(frozen=True)
class Decoded:
    """The text ``tokens`` of a window, the log probability of them and the end together, and the no-speech probability.

    An engine that aligns by them adds ``queries`` [alignment heads, task and text tokens, head width] and
    ``probabilities`` [text tokens].
    """

    tokens: list[int]
    logprob: float
    no_speech_prob: float
    probabilities: list[float] = field(default_factory=list)
    queries: Float | None = None

    @property
    def avg_logprob(self) -> float:
        """The mean over the tokens and the end, as in OpenAI's Whisper."""
        return self.logprob / (len(self.tokens) + 1)


@dataclass(frozen=True)
class Aligned:
    """Start of each text token of a window and of the end in seconds, [tokens + 1], and the tokens' probabilities."""

    starts: NDArray[np.float64]
    probabilities: Sequence[float]


class Engine(Protocol):
    """Computes windows of one model. Lists have one entry per window."""

    # Whether windows are encoded faster together than one by one.
    encodes_together: bool
    # The most windows that it decodes together.
    decodes_together: int

    def encode(self, features: Float) -> list[Encoded]:
        """Features [windows, mel bins, frames]."""
        ...

    def languages(self, windows: Sequence[Encoded]) -> list[dict[int, float]]:
        """The probability of each language token, likeliest first."""
        ...

    def decode(
        self,
        windows: Sequence[Encoded],
        prompts: Sequence[list[int]],
        most: int,
        temperature: float,
        seeds: Sequence[int | None],
    ) -> list[Decoded]:
        """At most ``most`` tokens after prompts of one length; above a temperature of 0, the best of some samples.

        The samples of a window with a seed are the same each time.
        """
        ...

    def align(
        self, windows: Sequence[Encoded], task: list[int], decoded: Sequence[Decoded], seconds: Sequence[float]
    ) -> list[Aligned]:
        """Align the tokens with the first ``seconds`` of each window. All windows have the same ``task``."""
        ...
