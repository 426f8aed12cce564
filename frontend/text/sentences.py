"""Split text into sentences before it is phonemized, without stopping at abbreviations, numbers and ordinals."""

import re
from collections.abc import Iterable

LONGEST_SENTENCE = 240
_ABBREVIATIONS = {
    "en": [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "jr",
        "sr",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "a.m",
        "p.m",
        "no",
        "inc",
        "ltd",
        "approx",
        "dept",
    ],
    "de": [
        "hr",
        "fr",
        "dr",
        "prof",
        "st",
        "nr",
        "bzw",
        "usw",
        "z.b",
        "d.h",
        "u.a",
        "ca",
        "evtl",
        "inkl",
        "str",
        "tel",
        "vgl",
        "bspw",
        "o.ä",
        "u.u",
    ],
    "fr": ["m", "mme", "mlle", "dr", "pr", "st", "ste", "etc", "p.ex", "av", "bd", "env", "cf", "no", "tél"],
    "it": [
        "sig",
        "sig.ra",
        "sig.na",
        "dott",
        "dott.ssa",
        "prof",
        "ing",
        "avv",
        "ecc",
        "es",
        "n",
        "p",
        "s",
        "st",
        "cfr",
        "tel",
        "ca",
    ],
}
_ORDINAL_LANGUAGES = frozenset({"de"})
_END = re.compile(r"(?<=[.!?…])[\"'»”’)\]]*\s+|\n\s*\n|(?<=[。！？])")
_CLAUSE = re.compile(r"(?<=[,;:–—])\s+")
_WORD = re.compile(r"[\w.]*")
# Longer than every abbreviation.
_LONGEST_WORD = 16


def _is_open(text: str, following: str, language: str) -> bool:
    """Whether the dot that ends ``text`` is not the end of a sentence."""
    word = _word_before_dot(text).lower()
    if word in _ABBREVIATIONS.get(language, ()):
        return True
    if len(word) == 1 and word.isalpha():
        return True
    return language in _ORDINAL_LANGUAGES and word.isdigit() and len(word) <= 2 and following[:1].isalpha()


def _word_before_dot(text: str) -> str:
    """What stands before the dot that ends ``text``, or nothing; of what is long, its end."""
    if not text.endswith("."):
        return ""
    # Read backwards from the dot, so that the time does not grow with the text.
    match = _WORD.match(text[-2 : -2 - _LONGEST_WORD : -1])
    return match[0][::-1] if match else ""


def _cut_long(sentence: str) -> list[str]:
    """Cut a sentence over ``LONGEST_SENTENCE`` characters, at a clause where there is one, else at a space."""
    return _filled(piece for clause in _CLAUSE.split(sentence) for piece in _pieces(clause))


def _pieces(clause: str) -> list[str]:
    if len(clause) <= LONGEST_SENTENCE:
        return [clause]
    return _filled(
        word[at : at + LONGEST_SENTENCE] for word in clause.split() for at in range(0, len(word), LONGEST_SENTENCE)
    )


def _filled(pieces: Iterable[str]) -> list[str]:
    """Pieces a space apart, in order, in as few texts of at most ``LONGEST_SENTENCE`` characters as they go into."""
    texts: list[str] = []
    for piece in pieces:
        if texts and len(texts[-1]) + 1 + len(piece) <= LONGEST_SENTENCE:
            texts[-1] += f" {piece}"
        else:
            texts.append(piece)
    return texts


def split(text: str, language: str) -> list[str]:
    """Sentences of a text in order, none longer than ``LONGEST_SENTENCE`` characters, none empty."""
    sentences: list[str] = []
    pending = ""
    parts = [part for part in _END.split(text) if part and part.strip()]
    for index, part in enumerate(parts):
        pending = f"{pending} {part}" if pending else part
        following = parts[index + 1].lstrip() if index + 1 < len(parts) else ""
        if following and _is_open(pending, following, language):
            continue
        sentences.append(" ".join(pending.split()))
        pending = ""
    return [piece for sentence in sentences for piece in _cut_long(sentence)]
