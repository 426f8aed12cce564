"""Finds the likeliest tokens of a window, by beam search or as the best of several samples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from engines import Float
from numpy.typing import NDArray


@dataclass(frozen=True)
class Step:
    """The decoder's outputs for the next token of each row, as in ``scripts/export_models/whisper.py``.

    ``bias`` [vocabulary] was added to the logits.
    """

    logits: Float
    scores: Float
    candidates: NDArray[np.int32]
    log_sum: Float
    queries: Float
    bias: Float

    def of(self, first: int, count: int) -> "Step":
        """The outputs for the ``count`` rows from ``first`` on."""
        at = slice(first, first + count)
        return Step(
            self.logits[at], self.scores[at], self.candidates[at], self.log_sum[at], self.queries[at], self.bias
        )


@dataclass(frozen=True)
class Hypothesis:
    """A token after those ``before`` it, with its log probability, their total, and the query of the token before."""

    before: "Hypothesis | None" = None
    token: int = -1
    logprob: float = 0.0
    total: float = 0.0
    length: int = 0
    queries: Float | None = None

    def followed(self, token: int, logprob: float, queries: Float) -> "Hypothesis":
        return Hypothesis(self, token, logprob, self.total + logprob, self.length + 1, queries)

    def path(self) -> list["Hypothesis"]:
        """A hypothesis for each token, in order."""
        found: list[Hypothesis] = []
        last: Hypothesis | None = self
        while last is not None and last.before is not None:
            found.append(last)
            last = last.before
        return found[::-1]


# Takes a window's live hypotheses, the decoder's outputs for them and the width of the search. Yields pairs: a row and
# the hypothesis that continues it.
Extends = Callable[[list[Hypothesis], Step, int], Iterator[tuple[int, Hypothesis]]]


def likeliest_first(live: list[Hypothesis], step: Step, width: int) -> Iterator[tuple[int, Hypothesis]]:
    """The candidates of all hypotheses, likeliest first."""
    logprobs = step.scores[:, : width + 1] - step.log_sum
    totals = logprobs + np.array([[hypothesis.total] for hypothesis in live], np.float32)
    for place in np.argsort(-totals, axis=None, kind="stable").tolist():
        row, column = divmod(place, totals.shape[1])
        yield (
            row,
            live[row].followed(int(step.candidates[row, column]), float(logprobs[row, column]), step.queries[row]),
        )


def samples(temperature: float, random: np.random.Generator) -> Extends:
    """Sample one token after each hypothesis, and as many first tokens as the width of the search."""

    def drawn(live: list[Hypothesis], step: Step, width: int) -> Iterator[tuple[int, Hypothesis]]:
        for row in range(len(live)) if live[0].length else [0] * width:
            scores = step.logits[row] + step.bias
            # Gumbel-max: the highest score with Gumbel noise is a sample of the softmax.
            token = int((scores / temperature + random.gumbel(size=len(scores))).argmax())
            yield row, live[row].followed(token, float(scores[token] - step.log_sum[row, 0]), step.queries[row])

    return drawn


class Search:
    """The search in one window, with ``width`` rows of the decoder.

    It is done when ``width`` hypotheses have reached the ``end`` token.
    """

    def __init__(self, width: int, end: int, extends: Extends) -> None:
        self._width, self._end, self._extends = width, end, extends
        self._ended: list[Hypothesis] = []
        self._live = [Hypothesis()]

    @property
    def done(self) -> bool:
        return len(self._ended) >= self._width

    def advance(self, step: Step) -> tuple[list[int], list[int]]:
        """Take the decoder's outputs, and return the parent row and the token of each next row."""
        kept: list[tuple[int, Hypothesis]] = []
        if not self.done:
            for row, hypothesis in self._extends(self._live, step, self._width):
                if hypothesis.token == self._end:
                    self._ended.append(hypothesis)
                else:
                    kept.append((row, hypothesis))
                if len(kept) == self._width:
                    break
            self._live = [hypothesis for _, hypothesis in kept]
        # Every window has ``width`` rows in the decoder. Rows of ended samples are ignored.
        idle = self._width - len(kept)
        return [row for row, _ in kept] + [0] * idle, [hypothesis.token for _, hypothesis in kept] + [self._end] * idle

    def best(self) -> Hypothesis:
        """The hypothesis with the highest mean log probability per token."""
        return max(self._ended or self._live, key=lambda hypothesis: hypothesis.total / hypothesis.length)


class Decoder(Protocol):
    """Decodes the rows of several windows."""

    def step(self, tokens: Sequence[Sequence[int]], parents: Sequence[int], bias: Float) -> Step:
        """Append tokens to each of the ``parents``, which are rows of the last step."""
        ...

    def keep(self, windows: Sequence[int]) -> None:
        """Forget the other windows. The next step has only rows of these."""
        ...


def search_together(
    decoder: Decoder, searches: Sequence[Search], width: int, step: Step, most: int, bias: Float
) -> None:
    """Advance searches until each is done or has ``most`` tokens.

    ``step`` has the decoder's first outputs, one row per search.
    """
    rows = 1
    for left in reversed(range(most)):
        # Parent rows and tokens of the next rows of each search.
        extensions = [search.advance(step.of(place * rows, rows)) for place, search in enumerate(searches)]
        going = [place for place, search in enumerate(searches) if not search.done]
        if not (going and left):
            return
        # Removing windows copies the others, which pays when half of them are done.
        kept = going if 2 * len(going) <= len(searches) else list(range(len(searches)))
        if len(kept) < len(searches):
            decoder.keep(kept)
        parents = [place * rows + row for place in kept for row in extensions[place][0]]
        tokens = [[token] for place in kept for token in extensions[place][1]]
        searches = [searches[place] for place in kept]
        step = decoder.step(tokens, parents, bias)
        rows = width
