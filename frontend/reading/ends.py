"""Finds where sentences end."""

import re
from collections.abc import Iterator

from frontend.reading.languages import NEAR, Language, first_word, language, last_words

_END = re.compile(r"(?<=[.!?…])(?:\s?»|[\"'”“)\]])*(?:\s+|$)|(?<=[。！？])")
_QUOTED = re.compile(r"[!?…](?:\s?»|[\"'”“)\]])+\s*$")
# Names that end with a mark.
_NAMES = re.compile(r"\b(?:Yahoo|Jeopardy|Joomla|Wham|Kahoot)!\s*$")
_INITIALS = re.compile(r"(?:(?<![^\W_])[^\W\d_]\.[\s-]?)+$")
_INITIAL = re.compile(r"[^\W\d_]\.")
_ONE_INITIAL = re.compile(r"(?<![\w.-])(?<![^\W_]\.\s)([^\W\d_])\.\s*$")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,2}\.\s*$")
_ELLIPSIS = re.compile(r"(?:…|\.\.\.)\s*$")
_FILE = re.compile(r"[^\W_]\.[a-z]")
_JOINED = re.compile(r"((?<=[^\W\d_]{2})[.!?…]+|^[!?]+[\"'»”)]*)([\"'«„(]*)([^\W\d_])(?=([^\W_]?))")


def sentences(line: str, code: str) -> Iterator[str]:
    """The sentences of a line, in order."""
    spoken, start = language(code), 0
    for end in _END.finditer(line):
        if not _goes_on(line[start : end.end()], line[end.end() : end.end() + NEAR], spoken):
            yield line[start : end.end()]
            start = end.end()
    yield line[start:]


def _goes_on(text: str, following: str, spoken: Language | None) -> bool:
    """Whether a sentence goes on after an apparent end."""
    next_word = first_word(following)
    if any(mark.search(text[-NEAR:]) for mark in (_QUOTED, _ELLIPSIS, _NAMES)):
        return next_word[:1].islower()
    if spoken is not None and spoken.tables["nouns_have_capitals"] and _NUMBER.search(text[-NEAR:]):
        # A German ordinal, such as "am 12. nach Bern".
        return next_word[:1].islower() and not text.islower()
    if not following or spoken is None or not _INITIALS.search(text[-NEAR:].rstrip()):
        return False
    if spoken.opens(following):
        return False
    one = _ONE_INITIAL.search(text[-NEAR:])
    if _INITIAL.match(following):
        return True
    return _is_initial(one[1], last_words(text)[:-1], next_word, spoken) if one else True


def _is_initial(letter: str, words: list[str], next_word: str, spoken: Language) -> bool:
    """Whether a single letter with a dot is a part of a name, as in George W. Bush; A, B and C may be grades."""
    if not letter.isupper():
        return False
    if not words:
        return next_word[:1].isupper()
    word = words[-1].lower()
    is_named = words[-1][0].isupper() and word not in spoken.openers | spoken.words("not_names", "letters")
    # "Mr. X." is not known by more.
    is_named = is_named or word in _titles(spoken) and letter not in "XYZ"
    joined = word in spoken.words("before", "initials") and next_word[:1].isupper()
    return is_named or joined


def _titles(spoken: Language) -> set[str]:
    """The last words of titles, which have been written out."""
    titles: dict[str, str] = spoken.tables["abbreviations"]["titles"]
    return {words.split()[-1].lower() for words in titles.values()}


def spaced(text: str, code: str) -> str:
    """The text with a space between sentences that have none, as in texts that were joined from pieces."""
    return " ".join(
        word if len(word) < 4 or _is_address(word) else _JOINED.sub(_apart, word) for word in text.split(" ")
    )


def _is_address(word: str) -> bool:
    # Names of files have a dot before a small letter.
    return "@" in word or "//" in word or word.lower().startswith("www.") or _FILE.search(word) is not None


def _apart(match: re.Match[str]) -> str:
    mark, quote, letter, second = match.groups()
    before = match.string[: match.start()][-1:] or "a"
    if mark[0] == "…" or mark.startswith("..."):
        return f"{mark if letter.isupper() else ','} {quote}{letter}"
    # Not in names such as Node.js, Ph.D. and ASP.NET.
    is_end = before.islower() and letter.isupper() and not second.isupper()
    return f"{mark} {quote}{letter}" if is_end else match[0]
