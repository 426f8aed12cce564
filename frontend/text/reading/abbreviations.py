"""Writes out abbreviations. Their dot stays where it ends a sentence too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from frontend.text.reading.languages import NEAR, Language, first_word, language, last_words

_NUMBER = re.compile(r"[\d½¼¾⅓⅔][\s-]?$")
_ONE = re.compile(r"(?<![\d.,])1[\s-]?$")
_REFERENCE = re.compile(r"\s?(?:\d|[IVX]+\b|[A-Za-z]\b(?!\.))")
_DIGIT = re.compile(r"\s?\d")
_DATE = re.compile(r",?\s\d{1,2}\.?\s([^\W\d_]+)")
_INITIAL = re.compile(r"\s?[^\W\d_]\.")
# As in Goethestr. 12. The dot stays at an end.
_STREET = re.compile(r"(?<=[a-zäöüß])str(?:(\.)(?=\s*$|\s+[A-ZÄÖÜ])|\.(?=\s))")


@dataclass(frozen=True)
class _Place:
    """An abbreviation in a text: as it is written, what is before and behind it, and the words before it."""

    written: str
    before: str
    behind: str
    words: Sequence[str]
    language: Language

    @property
    def previous(self) -> str:
        """The word before it, in small letters."""
        return self.words[-1].lower() if self.words else ""

    @property
    def has_capital(self) -> bool:
        return self.written[0].isupper()

    @property
    def is_last(self) -> bool:
        rest = self.behind.lstrip(" \t\"'»”)]")
        return not rest or rest.startswith("\n")

    @property
    def before_capital(self) -> bool:
        return first_word(self.behind)[:1].isupper()

    @property
    def ends(self) -> bool:
        """Whether it ends a sentence, if a word with a capital does not belong to it."""
        return self.is_last or self.before_capital

    @property
    def ends_before_opener(self) -> bool:
        return self.is_last or self.language.opens(self.behind)


# Whether an abbreviation of a kind ends its sentence at a place; None if it is not meant there.
_Kind = Callable[[_Place], bool | None]


def _title(place: _Place) -> bool | None:
    is_title = place.has_capital or not place.words or place.previous in place.language.words("before", "titles")
    is_day = place.previous in place.language.words("before", "not_titles")
    named = place.before_capital and not place.language.opens(place.behind) or _INITIAL.match(place.behind)
    is_doctor = place.has_capital and first_word(place.behind) in place.language.words("behind", "titles")
    return False if is_doctor or is_title and named and not is_day else None


def _street(place: _Place) -> bool | None:
    word = place.words[-1] if place.words else ""
    is_name = word[:1].isupper() and word.lower() not in place.language.openers or word[:1].isdigit()
    numbered = any(each.isdigit() for each in place.words[-3:])
    if not (place.has_capital and is_name) or word.lower() in place.language.words("not_names", "streets"):
        return None
    follows = place.before_capital and not place.language.opens(place.behind)
    # Dr. before a name is a title: "Dear Dr. Brown".
    is_title = place.written in place.language.words("before", "rather_titles") and follows and not numbered
    return None if is_title else place.ends


def _reference(place: _Place) -> bool | None:
    if not _REFERENCE.match(place.behind) or _NUMBER.search(place.before) and not _DIGIT.match(place.behind):
        return None
    is_word = place.previous in place.language.words("not_names", "references")
    # "Is he coming? No. 20 people are."
    return None if is_word or place.before.rstrip().endswith("?") else False


def _behind_number(place: _Place) -> bool | None:
    if not _NUMBER.search(place.before):
        return None
    # German nouns have a capital.
    return place.ends_before_opener if place.language.tables["nouns_have_capitals"] else place.ends


def _month(place: _Place) -> bool | None:
    beside_number = _NUMBER.search(place.before) or re.search(r"\d\.\s$", place.before) or _DIGIT.match(place.behind)
    named = place.has_capital and place.previous in place.language.words("before", "months")
    return place.ends if beside_number or named else None


def _day(place: _Place) -> bool | None:
    tables = place.language.tables
    words = place.language.words
    is_day = place.previous in words("before", "days") or first_word(place.behind) in words("behind", "days")
    if (date := _DATE.match(place.behind)) and date[1].lower() in _months(place.language):
        return False
    written = (
        place.has_capital
        if tables["days_have_capitals"]
        else tables["days_need_numbers"] <= bool(_DIGIT.match(place.behind))
    )
    return place.ends if is_day and written else None


def _months(spoken: Language) -> set[str]:
    return {*spoken.tables["abbreviations"]["months"], *spoken.tables["dates"]["months"].lower().split()}


def _inside(place: _Place) -> bool | None:
    shouted = len(place.written) > 1 and place.written.isalpha() and place.written.isupper()
    return None if shouted or place.is_last else False


def _either(place: _Place) -> bool:
    return place.ends and first_word(place.behind).lower() not in place.language.words("not_names", "either")


def _before_nouns(place: _Place) -> bool:
    return place.ends_before_opener


# In the order in which they are tried.
_KINDS: dict[str, _Kind] = {
    "streets": _street,
    "days": _day,
    "titles": _title,
    "behind_numbers": _behind_number,
    "references": _reference,
    "months": _month,
    "inside": _inside,
    "either": _either,
    "before_nouns": _before_nouns,
}


def written_out(text: str, code: str) -> str:
    """The text with abbreviations as words. A dot stays if it also ends a sentence."""
    if (spoken := language(code)) is None:
        return text

    def word(match: re.Match[str]) -> str:
        name = re.sub(r"\s", "", match[1]).rstrip(".").lower()
        before, behind = text[max(0, match.start() - NEAR) : match.start()], text[match.end() : match.end() + NEAR]
        place = _Place(match[1].rstrip("."), before, behind, last_words(before), spoken)
        for kind, is_meant in _KINDS.items():
            words = _words(code, kind).get(name)
            if words and (ends := is_meant(place)) is not None:
                if kind == "behind_numbers" and (_ONE.search(before) or before.endswith("-")):
                    words = spoken.tables["abbreviations"]["singular"].get(words, words)
                return f"{words}." if ends else words
        return match[0]

    text = _pattern(code).sub(word, text)
    return _STREET.sub(r"straße\1", text) if code == "de" else text


@cache
def _words(code: str, kind: str) -> dict[str, str]:
    """What each abbreviation of a kind means, by its letters without spaces."""
    spoken = language(code)
    table = spoken.tables["abbreviations"].get(kind, {}) if spoken else {}
    return {name.replace(" ", ""): words for name, words in table.items()}


@cache
def _pattern(code: str) -> re.Pattern[str]:
    spoken = language(code)
    kinds = spoken.tables["abbreviations"] if spoken else {}
    names = {name for kind in _KINDS for name in kinds.get(kind, {})}
    longest_first = "|".join(map(_name_pattern, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W\d_])(?<![.@/])({longest_first})(?![\w@])", re.IGNORECASE)


def _name_pattern(name: str) -> str:
    """The pattern of an abbreviation with its dot, which is optional after an ending, as in sig.ra."""
    _, dot, last = name.rpartition(".")
    return re.escape(name).replace(r"\ ", r"\s?").replace(r"\.", r"\.\s?") + (
        r"\.?" if dot and len(last) > 1 else r"\."
    )


def is_abbreviation(word: str, code: str) -> bool:
    """Whether a word with a dot is an abbreviation that other words follow, such as Dr."""
    spoken = language(code)
    name = word.strip().rstrip(".").lower()
    kinds = spoken.tables["abbreviations"] if spoken else {}
    return any(name in kinds.get(kind, {}) for kind in ("titles", "inside"))
