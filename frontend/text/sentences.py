"""Split a text into sentences, as they are to be spoken: numbers, names and abbreviations do not end one."""

import re
from collections.abc import Iterator

from frontend.text.abbreviations import begins_sentence, ends_with_initials, written_out
from frontend.text.characters import readable

_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+|(?<=[。！？])")
_QUOTED = re.compile(r"[!?][\"'»”)\]]+\s*$")
# A line of a letter that is broken at some width goes on in the next one; a shorter one is an item of a list.
_BROKEN_LINE = 50
_SPOKEN = re.compile(r"[^\s.,:;!?…\"'«»“”()\[\]\-–—]")
_LONGEST_WORD = 50
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD}}}(?=\S)")
# espeak-ng writes beyond its memory where some hundred letters have dots.
_DOTTED = re.compile(r"(?<![^\W_])([^\W\d_])\.")
_MOST_DOTTED = 20


def split(text: str, language: str) -> list[str]:
    """The sentences of a text in order, abbreviations written out; what has no letter or number is left away."""
    written = written_out(readable(text), language)
    sentences = (sentence for line in _lines(written) for sentence in _sentences(line, language))
    return [_harmless(sentence) for sentence in sentences if _SPOKEN.search(sentence)]


def _harmless(sentence: str) -> str:
    """With one space between words, and none of the words that espeak-ng does not take."""
    if len(_DOTTED.findall(sentence)) > _MOST_DOTTED:
        sentence = _DOTTED.sub(r"\1 ", sentence)
    return _LONG_WORD.sub(r"\g<0> ", " ".join(sentence.split()))


def _lines(text: str) -> Iterator[str]:
    """Those of a text, joined where they are one line that was broken."""
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
    """Whether a sentence goes on behind what looks like its end."""
    if _QUOTED.search(text[-20:]):
        return following[:1].islower()
    return bool(following) and ends_with_initials(text.rstrip()) and not begins_sentence(following, language)
