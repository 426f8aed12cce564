"""Splits a text into sentences for speech. Numbers, names and abbreviations end none."""

import re
from collections.abc import Iterator

from frontend.text.abbreviations import begins_sentence, ends_with_initials, written_out
from frontend.text.characters import readable

_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+|(?<=[。！？])")
_QUOTED = re.compile(r"[!?][\"'»”)\]]+\s*$")
# Characters. A line at least this long is a wrapped line and continues; a shorter one is a list item.
_BROKEN_LINE = 50
_SPOKEN = re.compile(r"[^\s.,:;!?…\"'«»“”()\[\]\-–—]")
_LONGEST_WORD = 50
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD}}}(?=\S)")
# espeak-ng writes out of bounds after some hundred dotted letters.
_DOTTED = re.compile(r"(?<![^\W_])([^\W\d_])\.")
_MOST_DOTTED = 20


def split(text: str, language: str) -> list[str]:
    """The sentences in order, with abbreviations written out. Sentences without letters or digits are dropped."""
    written = written_out(readable(text), language)
    sentences = (sentence for line in _lines(written) for sentence in _sentences(line, language))
    return [_harmless(sentence) for sentence in sentences if _SPOKEN.search(sentence)]


def _harmless(sentence: str) -> str:
    """The sentence with single spaces, and without words on which espeak-ng fails."""
    if len(_DOTTED.findall(sentence)) > _MOST_DOTTED:
        sentence = _DOTTED.sub(r"\1 ", sentence)
    return _LONG_WORD.sub(r"\g<0> ", " ".join(sentence.split()))


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; wrapped lines are joined."""
    pending: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if pending and not (len(pending[-1]) >= _BROKEN_LINE and line[:1].islower()):
            yield " ".join(pending)
            pending = []
        pending.append(line)
    yield " ".join(pending)


def _sentences(line: str, language: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        if not _is_open(line[start : end.end()], line[end.end() :][:40], language):
            yield line[start : end.end()]
            start = end.end()
    yield line[start:]


def _is_open(text: str, following: str, language: str) -> bool:
    """Whether a sentence continues after an apparent end."""
    if _QUOTED.search(text[-20:]):
        return following[:1].islower()
    return bool(following) and ends_with_initials(text.rstrip()) and not begins_sentence(following, language)
