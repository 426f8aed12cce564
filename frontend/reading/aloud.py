"""Splits a text into sentences for speech, as a person reads them out."""

import re
from collections.abc import Iterator

from frontend.reading import (
    abbreviations,
    acronyms,
    addresses,
    clock,
    dates,
    ends,
    money,
    ordinals,
    phones,
    signs,
    units,
)
from frontend.reading.abbreviations import is_abbreviation
from frontend.reading.ends import sentences
from frontend.reading.markdown import plain
from frontend.text.characters import readable
from frontend.text.sentences import harmless

# In the order in which they see a text: dots of addresses, amounts and dates end no sentence.
_READERS = (
    addresses.written_out,
    ends.spaced,
    money.written_out,
    clock.written_out,
    dates.written_out,
    phones.written_out,
    abbreviations.written_out,
    ordinals.written_out,
    units.written_out,
    signs.written_out,
    acronyms.written_out,
)
# Characters. A line at least this long is a wrapped line, and continues; a shorter one is a list item.
_BROKEN_LINE = 50
# After an apostrophe, espeak-ng reads this French word in English.
_TODAY = re.compile(r"(?<=')aujourd'hui", re.IGNORECASE)
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])(?!(?:und|oder|and|or|et|ou|e|o)\b)")
_ITEM = re.compile(r"[•·▪◦‣*–—-]\s|\(?\d{1,3}[.)]\s")
_BULLET = re.compile(r"^[•·▪◦‣]\s*")
_NUMBERED = re.compile(r"^\(?(\d{1,3})[.)](?=\s)")


def split(text: str, language: str) -> list[str]:
    """The sentences in order, with abbreviations written out. Sentences without letters or digits are dropped."""
    found = (
        each for line in _lines(readable(plain(text)), language) for each in sentences(read(line, language), language)
    )
    return harmless(_TODAY.sub("aujourdhui", sentence) for sentence in found)


def read(line: str, language: str) -> str:
    """A line as it is said."""
    line = _NUMBERED.sub(r"\1,", _BULLET.sub("", line)) if not ordinals.begins_with_date(line, language) else line
    for written_out in _READERS:
        line = written_out(line, language)
    return line


def _lines(text: str, language: str) -> Iterator[str]:
    """The lines of a text; wrapped lines are joined."""
    pending: list[str] = []
    for line in map(str.strip, _HYPHENATED.sub("", text).splitlines()):
        if pending and not _continues(pending[-1], line, language):
            yield " ".join(pending)
            pending = []
        pending.append(line)
    yield " ".join(pending)


def _continues(line: str, following: str, language: str) -> bool:
    """Whether a wrapped line continues in the following one."""
    if line.endswith("-") and following:
        # "Vor-" and "und Nachteile".
        return True
    if len(line) < _BROKEN_LINE or not following or _ITEM.match(following):
        return False
    return following[0].islower() or line[-1] not in ".!?…:;" or is_abbreviation(line.split()[-1], language)
