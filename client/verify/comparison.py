"""Compares recognised with spoken text: words and times."""

from collections.abc import Sequence
from dataclasses import dataclass

import jiwer

from client.recordings import words
from client.verify.questions import Transcript

Span = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """The number of words ``said`` and of those recognised wrongly (``errors``).

    ``late`` is the largest distance, in seconds, of a correct word from its phrase, or of a phrase's first or last word
    from the phrase's edge.
    """

    said: int
    errors: int
    late: float


def compare(phrases: Sequence[str], spans: Sequence[Span], heard: Transcript) -> Comparison:
    """Compare phrases, with the start and end of each in seconds, with a transcript of all."""
    said = [(word, place) for place, phrase in enumerate(phrases) for word in words(phrase)]
    timed = [(word, start, end) for text, start, end in heard.words for word in words(text)]
    if not timed:
        return Comparison(len(said), len(said), 0.0)
    result = jiwer.process_words(" ".join(word for word, _ in said), " ".join(word for word, _, _ in timed))
    errors = result.substitutions + result.deletions + result.insertions
    places = [place for _, place in said]
    late = [0.0]
    for chunk in result.alignments[0]:
        if chunk.type != "equal":
            continue
        for at, found in zip(
            range(chunk.ref_start_idx, chunk.ref_end_idx), range(chunk.hyp_start_idx, chunk.hyp_end_idx), strict=True
        ):
            late.append(_outside(timed[found][1:], spans[places[at]], *_edges(places, at)))
    return Comparison(len(said), errors, max(late))


def _edges(places: Sequence[int], at: int) -> tuple[bool, bool]:
    """Whether a word is the first of its phrase, and whether it is the last."""
    return at == 0 or places[at - 1] != places[at], at + 1 == len(places) or places[at + 1] != places[at]


def _outside(word: Span, phrase: Span, first: bool, last: bool) -> float:
    start = abs(word[0] - phrase[0]) if first else max(phrase[0] - word[0], word[0] - phrase[1])
    end = abs(word[1] - phrase[1]) if last else max(word[1] - phrase[1], phrase[0] - word[1])
    return max(start, end, 0.0)
