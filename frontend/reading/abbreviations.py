"""Writes out abbreviations. Their dot stays where it ends a sentence too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from frontend.reading.languages import NEAR, Language, first_word, language, last_words

_NUMBER = re.compile(r"[\d½¼¾⅓⅔]\.?[\s-]?$")
_ONE = re.compile(r"(?<![\d.,])1[\s-]?$")
_REFERENCE = re.compile(
    r"\s?\(?(?:\d|[IVX]+\b|[A-Za-z]\b(?=\s*(?:[,;:)]|$|and\b|(?:und|et|e|of|for|to|in|on|di|de|von|für)\b)))"
)
_NOUN_BEHIND = re.compile(r"\s?\d+ ([^\W\d_]+)")
_AND = re.compile(r"\s?(?:and|und|et|ed|e|&) ([^\W\d_]{1,5})\.?(?:\s|$)")
_YEAR = re.compile(r"\s[12]\d{3}\b")
_DIGIT = re.compile(r"\s?\d")
_DATE = re.compile(r",?\s\d{1,2}\.?\s([^\W\d_]+)")
_INITIALS = re.compile(r"(?:[A-Z]\. ?){2,}")
_INITIAL = re.compile(r"\s?[^\W\d_]\.")
# As in Goethestr. 12. The dot stays at an end.
_STREET = re.compile(r"(?<=[a-zäöüß])str(?:(\.)(?=\s*$|\s+[A-ZÄÖÜ])|\.(?=\s))")


@dataclass(frozen=True)
class _Found:
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


# Whether an abbreviation of a kind ends its sentence where it was found; None if it is not meant there.
_Kind = Callable[[_Found], bool | None]


def _title(found: _Found) -> bool | None:
    is_title = found.has_capital or not found.words or found.previous in found.language.words("before", "titles")
    titles = found.language.tables["abbreviations"]["titles"]
    if found.has_capital and (pair := _AND.match(found.behind)) and pair[1].lower() in titles:
        # "Mr. and Mrs. Smith"
        return False
    if len(found.written) == 1 and found.words and not _begins_name(found):
        return None
    if found.has_capital and first_word(found.behind).lower() in found.language.words("behind", "titles"):
        return False
    is_day = found.previous in found.language.words("before", "not_titles")
    named = found.before_capital and not found.language.opens(found.behind) or _INITIAL.match(found.behind)
    return False if is_title and named and not is_day else None


def _begins_name(found: _Found) -> bool:
    """Whether a single letter such as M. is no initial behind a name, and no size."""
    word = found.words[-1]
    follows = found.before.rstrip()[-1:].isalnum()
    is_initial = follows and word[0].isupper() and word.lower() not in found.language.openers
    is_letter = word.lower() in found.language.words("not_names", "letters")
    return not (is_initial or is_letter)


def _street(found: _Found) -> bool | None:
    word = found.words[-1] if found.words else ""
    is_name = word[:1].isupper() and word.lower() not in found.language.openers or word[:1].isdigit()
    if not found.before[-1:].isspace() or not found.before.rstrip()[-1:].isalnum():
        return None
    numbered = any(each.isdigit() for each in found.words[-3:])
    if not (found.has_capital and is_name) or word.lower() in found.language.words("not_names", "streets"):
        return None
    follows = found.before_capital and not found.language.opens(found.behind)
    # Dr. before a name is a title: "Dear Dr. Brown".
    is_title = found.written in found.language.words("before", "rather_titles") and follows and not numbered
    return None if is_title else found.ends


def _reference(found: _Found) -> bool | None:
    if not _REFERENCE.match(found.behind) or _NUMBER.search(found.before) and not _DIGIT.match(found.behind):
        return None
    words = found.language.words
    is_word = found.previous in words("not_names", "references") and found.written.islower()
    noun = _NOUN_BEHIND.match(found.behind)
    is_count = noun is not None and noun[1].islower() and noun[1] not in words("behind", "references")
    if found.written.islower() and is_count and found.previous in words("not_names", "counted"):
        # "L'art. 20 personnes sont venues."
        return None
    # "Is he coming? No. 20 people are."
    return None if is_word or found.before.rstrip().endswith("?") else False


def _behind_number(found: _Found) -> bool | None:
    if not _NUMBER.search(found.before):
        return None
    # German nouns have a capital.
    return found.ends_before_opener if found.language.tables["nouns_have_capitals"] else found.ends


def _month(found: _Found) -> bool | None:
    beside_number = _NUMBER.search(found.before) or (_DIGIT if found.has_capital else _YEAR).match(found.behind)
    named = found.has_capital and found.previous in found.language.words("before", "months")
    return found.ends if beside_number or named else None


def _day(found: _Found) -> bool | None:
    tables = found.language.tables
    words = found.language.words
    is_day = found.previous in words("before", "days") or first_word(found.behind) in words("behind", "days")
    if (date := _DATE.match(found.behind)) and date[1].lower() in _months(found.language):
        return False
    written = found.has_capital if tables["days_have_capitals"] else not _DIGIT.match(found.behind)
    return found.ends if is_day and written and not tables["days_need_numbers"] else None


def _months(spoken: Language) -> set[str]:
    return {*spoken.tables["abbreviations"]["months"], *spoken.tables["dates"]["months"].lower().split()}


def _inside(found: _Found) -> bool | None:
    begins = not found.words or found.before.rstrip()[-1:] in tuple(".!?:")
    shouted = found.written.isalpha() and found.has_capital and not begins
    if len(found.written) == 1 and not (found.before_capital and found.words and found.words[-1][0].isupper()):
        # v. between two names.
        return None
    if shouted or found.is_last:
        return None
    is_amount = found.written.lower() in found.language.tables["abbreviations"]["references"]
    return is_amount and found.language.opens(found.behind)


def _either(found: _Found) -> bool | None:
    if found.written.lower().replace(" ", "") in ("a.m", "p.m") and not _NUMBER.search(found.before):
        return None
    return found.ends and first_word(found.behind).lower() not in found.language.words("not_names", "either")


def _courtesy(found: _Found) -> bool | None:
    return False if found.has_capital else None


def _state(found: _Found) -> bool | None:
    return found.ends if found.has_capital and found.before.rstrip().endswith(",") else None


def _before_nouns(found: _Found) -> bool:
    return found.ends_before_opener


# In the order in which they are tried.
_KINDS: dict[str, _Kind] = {
    "streets": _street,
    "titles": _title,
    "days": _day,
    "behind_numbers": _behind_number,
    "references": _reference,
    "months": _month,
    "courtesy": _courtesy,
    "inside": _inside,
    "states": _state,
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
        if _INITIALS.fullmatch(match[1]) and first_word(behind)[:1].isupper():
            # "A. M. Turing"
            return match[0]
        found = _Found(match[1].rstrip("."), before, behind, last_words(before), spoken)
        for kind, is_meant in _KINDS.items():
            words = _words(code, kind).get(name)
            if words and (ends := is_meant(found)) is not None:
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
