"""Converts Whisper's tokens to words, without a model or Triton."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_PUNCTUATION_AFTER = "\"'.。,，!！?？:：”)]}、…»"
# Behind a blank these open what follows.
_OPENING = (' "', " '")
# Languages without spaces between words: each character is a word.
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
# The alignment of the punctuation behind a word begins so many seconds before the word's sound has gone: the median
# over 450 prompts in five languages is 0.07 to 0.24 s.
_FADES = 0.06
# Longest time of one token, in seconds. Later speech counts as unrecognised.
_LONGEST_TOKEN = 1.0
# Seconds. Longer detected speech without words is decoded again.
_LONGEST_GAP = 2.0


@dataclass(frozen=True)
class Word:
    """A word as the tokens write it, a leading space included, with its seconds of the window and mean probability."""

    start: float
    end: float
    text: str
    probability: float

    def later(self, seconds: float) -> "Word":
        return replace(self, start=self.start + seconds, end=self.end + seconds)

    def until(self, seconds: float) -> "Word":
        return replace(self, end=min(self.end, seconds))


def compression_ratio(text: str) -> float:
    """How much zlib shortens a text; over 2.4 it repeats itself (Radford et al. 2022, section 4.5)."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 1.0


def decode_pieces(tokens: Sequence[int], decode: Callable[[list[int]], str]) -> list[str]:
    """The text that each token adds; of tokens that make a character together the first one adds it all."""
    pieces: list[str] = []
    pending: list[int] = []
    for token in tokens:
        pending.append(token)
        text = decode(pending)
        if not text.endswith("\ufffd"):
            pieces += [text, *[""] * (len(pending) - 1)]
            pending = []
    return pieces + [""] * len(pending)


def group_words(pieces: Sequence[str], language: str) -> list[list[int]]:
    """Indices of token ``pieces`` (each a decoded string) that make one word; punctuation joins the word before."""
    words: list[list[int]] = []
    for index, piece in enumerate(pieces):
        starts = piece.startswith(" ") or (piece and language in _UNSPACED_LANGUAGES)
        if words and (_is_punctuation(piece) or not starts):
            words[-1].append(index)
        else:
            words.append([index])
    return words


def _is_punctuation(piece: str) -> bool:
    mark = piece.strip()
    return bool(mark) and piece not in _OPENING and all(character in _PUNCTUATION_AFTER for character in mark)


def place_words(
    pieces: Sequence[str], starts: NDArray[np.float64], probabilities: Sequence[float], language: str
) -> list[Word]:
    """The words of token ``pieces``, whose ``starts`` [pieces + 1] end with that of what follows.

    A word ends as the punctuation behind it starts, whose silence is not the word's.
    """
    words = []
    for group in group_words(pieces, language):
        spoken = [index for index in group if not _is_punctuation(pieces[index])] or group
        probability = float(np.mean([probabilities[index] for index in group]))
        text = "".join(pieces[index] for index in group)
        end = min(starts[spoken[-1] + 1] + _FADES, starts[group[-1] + 1])
        words.append(Word(float(starts[group[0]]), float(end), text, probability))
    return words


def unheard(
    pieces: Sequence[str], starts: NDArray[np.float64], seconds: float, language: str
) -> tuple[float, float] | None:
    """From the first to the last of the stretches of more than 2 s of speech in which no word is.

    A word that takes so long may be anywhere in its time, which is in the stretch with it. None where there is no
    stretch, or the window is one: that would be heard as before.
    """
    gaps = [(0.0, starts[0]), (starts[-1], seconds)]
    groups = group_words(pieces, language)
    behind = [*(group[0] for group in groups), len(pieces)][1:]
    for group, following in zip(groups, behind, strict=True):
        spoken = [index for index in group if not _is_punctuation(pieces[index])]
        silent = sum(max(0.0, starts[index + 1] - starts[index] - _LONGEST_TOKEN) for index in spoken)
        begun = group[0] if silent > _LONGEST_GAP or not spoken else spoken[-1] + 1
        gaps.append((starts[begun], starts[following]))
    long = [gap for gap in gaps if gap[1] - gap[0] > _LONGEST_GAP]
    if not long:
        return None
    first, last = min(start for start, _ in long), max(end for _, end in long)
    return (float(first), float(last)) if last - first < seconds else None
