"""Converts Whisper's tokens to words, without a model or Triton."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

# Words that are rarely said again at once, and characters of languages without spaces.
_WORDS_AGAIN, _CHARACTERS_AGAIN = 3, 4
_PUNCTUATION_AFTER = "\"'.。,，!！?？:：”)]}、…»"
# After a blank, these open a quotation.
_OPENING = (' "', " '")
# Languages without spaces between words: each character is a word.
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
# Seconds by which a word's sound outlasts the start of the punctuation after it. The median over 450 prompts in five
# languages is 0.07 to 0.24 s.
_FADE_SECONDS = 0.06
# Longest time of one token, in seconds. Later speech counts as unrecognised.
_LONGEST_TOKEN = 1.0
# Seconds. Longer detected speech without words is decoded again.
_LONGEST_GAP = 2.0


@dataclass(frozen=True)
class Word:
    """A word with its leading space, its start and end in seconds of the window, and its mean probability."""

    start: float
    end: float
    text: str
    probability: float

    def later(self, seconds: float) -> "Word":
        return replace(self, start=self.start + seconds, end=self.end + seconds)

    def until(self, seconds: float) -> "Word":
        return replace(self, end=min(self.end, seconds))


def compression_ratio(text: str) -> float:
    """The ratio by which zlib shortens a text; above 2.4 it repeats itself (Radford et al. 2022, section 4.5).

    Each letter counts as one byte: in UTF-8, those of many scripts have two or three alike, which compress well.
    """
    letters: dict[str, int] = {}
    data = bytes(letters.setdefault(letter, len(letters)) % 256 for letter in text)
    return len(data) / len(zlib.compress(data)) if data else 1.0


def says_twice(text: str, language: str) -> bool:
    """Whether some words are said again at once; ``compression_ratio`` sees only longer repetitions."""
    unspaced = language in _UNSPACED_LANGUAGES
    letters = ("".join(filter(str.isalnum, part)) for part in (text if unspaced else text.lower().split()))
    words = [word for word in letters if word]
    for count in range(_CHARACTERS_AGAIN if unspaced else _WORDS_AGAIN, len(words) // 2 + 1):
        alike = 0
        for word, later in zip(words, words[count:], strict=False):
            alike = alike + 1 if word == later else 0
            if alike == count:
                return True
    return False


def decode_pieces(tokens: Sequence[int], decode: Callable[[list[int]], str]) -> list[str]:
    """The text of each token. If several tokens make one character, the first one has it."""
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
    """Indices of the token ``pieces`` (decoded strings) of each word; punctuation belongs to the word before."""
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
    """The words of token ``pieces``; ``starts`` [pieces + 1] includes the end.

    A word ends shortly after its punctuation starts, which usually is silence.
    """
    words = []
    for group in group_words(pieces, language):
        spoken = [index for index in group if not _is_punctuation(pieces[index])] or group
        probability = float(np.mean([probabilities[index] for index in group]))
        text = "".join(pieces[index] for index in group)
        end = min(starts[spoken[-1] + 1] + _FADE_SECONDS, starts[group[-1] + 1])
        words.append(Word(float(starts[group[0]]), float(end), text, probability))
    return words


def unheard(
    pieces: Sequence[str], starts: NDArray[np.float64], seconds: float, language: str
) -> tuple[float, float] | None:
    """The span of all stretches of more than 2 s of speech without a word, as start and end in seconds.

    A word that takes longer may be anywhere in its time, so the stretch includes it. None without such stretches, or if
    the span is the whole window, whose transcript would be the same again.
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
