"""How a text is read: as it stands, in plain characters, unless a ring has a reader of its own."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from frontend.text.characters import readable

_END = re.compile(r"(?<=[.!?…])[\"'”»)\]]*\s+|(?<=[。！？])|\n\s*\n")
_SPOKEN = re.compile(r"[^\s.,:;!?…\"'«»“”„()\[\]\-–—*|]")
_LONGEST_WORD = 50
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD}}}(?=\S)")
# espeak-ng writes out of bounds after some hundred dotted letters.
_DOTTED = re.compile(r"(?<![^\W_])([^\W\d_])\.")
_MOST_DOTTED = 20


def split(text: str, language: str) -> list[str]:
    """The sentences in order. Those without letters or digits are dropped."""
    return harmless(_END.split(readable(text)))


def harmless(sentences: Iterable[str]) -> list[str]:
    """The sentences that have letters or digits, with single spaces, and without words on which espeak-ng fails."""
    return [_harmless(sentence) for sentence in sentences if _SPOKEN.search(sentence)]


def _harmless(sentence: str) -> str:
    if len(_DOTTED.findall(sentence)) > _MOST_DOTTED:
        sentence = _DOTTED.sub(r"\1 ", sentence)
    return _LONG_WORD.sub(r"\g<0> ", " ".join(sentence.split()))


def is_no_abbreviation(word: str, language: str) -> bool:
    return False


@dataclass(frozen=True)
class Reader:
    """Splits a text into sentences as they are spoken, and tells whether a word with a dot ends none.

    Both get an ISO 639-1 code. They are functions of a module, since processes find them by name.
    """

    split: Callable[[str, str], list[str]] = split
    is_abbreviation: Callable[[str, str], bool] = is_no_abbreviation
