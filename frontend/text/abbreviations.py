"""Writes out abbreviations and ordinals, because espeak-ng takes their dot for the end of a sentence."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Most characters that are inspected before and after a dot.
_NEAR = 40


@dataclass(frozen=True)
class _Abbreviations:
    """A language's abbreviations, from ``abbreviations.toml``."""

    of_names: dict[str, str]
    of_numbers: dict[str, str]
    anywhere: dict[str, str]
    at_ends: dict[str, str]
    beginnings: frozenset[str]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, table: dict[str, Any]) -> "_Abbreviations":
        kinds = {kind: table[kind] for kind in ("of_names", "of_numbers", "anywhere", "at_ends")}
        longest_first = sorted({name for kind in kinds.values() for name in kind}, key=len, reverse=True)
        names = "|".join(map(_name_pattern, longest_first))
        pattern = re.compile(rf"(?<![\w.])({names})(?![\w.])", re.IGNORECASE)
        return cls(beginnings=frozenset(table["beginnings"].split()), pattern=pattern, **kinds)


def _name_pattern(name: str) -> str:
    """The pattern of an abbreviation with its dot, which is optional after an ending, as in sig.ra."""
    _, dot, last = name.rpartition(".")
    return re.escape(name).replace(r"\.", r"\.\s?") + (r"\.?" if dot and len(last) > 1 else r"\.")


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LANGUAGES = {language: _Abbreviations.of(table) for language, table in _TABLES.items()}
_ORDINALS = {name: words.split() for name, words in _TABLES["de"]["ordinals"].items()}
_FIRST_WORD = re.compile(r"[\"'«»“”(\[]*([^\W\d_]+)")
_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.\s?)+$|(?<![^\W_])(?:[^\W\d_]{1,2}\.){2,}$")


def written_out(text: str, language: str) -> str:
    """The text with abbreviations as words. A dot stays if it also ends a sentence."""
    if not (abbreviations := _LANGUAGES.get(language)):
        return text
    text = abbreviations.pattern.sub(_writes_out(text, abbreviations), text)
    if language == "de":
        return _ORDINAL.sub(_ordinal, _STREET.sub("straße", text))
    return _TODAY.sub("aujourdhui", text) if language == "fr" else text


def _writes_out(text: str, abbreviations: _Abbreviations) -> Callable[[re.Match[str]], str]:
    def word(match: re.Match[str]) -> str:
        name = re.sub(r"\s", "", match[1]).rstrip(".").lower()
        following = text[match.end() : match.end() + _NEAR]
        next_one = following.lstrip()[:1]
        begins = _begins(following, abbreviations)
        if name in abbreviations.of_names and next_one.isupper() and not (begins and name in abbreviations.at_ends):
            return abbreviations.of_names[name]
        if name in abbreviations.of_numbers and next_one.isdigit():
            return abbreviations.of_numbers[name]
        if name in abbreviations.anywhere and next_one:
            return abbreviations.anywhere[name]
        if name in abbreviations.at_ends:
            ends = not next_one or following.startswith("\n") or begins
            return abbreviations.at_ends[name] + ("." if ends else "")
        return match[0]

    return word


def is_abbreviation(word: str, language: str) -> bool:
    """Whether a word with a dot is an abbreviation that other words follow, such as Dr."""
    abbreviations = _LANGUAGES.get(language)
    name = word.strip().rstrip(".").lower()
    return abbreviations is not None and (name in abbreviations.of_names or name in abbreviations.anywhere)


def begins_sentence(following: str, language: str) -> bool:
    """Whether a text begins with a capital and a common first word of sentences."""
    abbreviations = _LANGUAGES.get(language)
    return abbreviations is not None and _begins(following[:_NEAR], abbreviations)


def _begins(following: str, abbreviations: _Abbreviations) -> bool:
    first = _FIRST_WORD.match(following.lstrip())
    return first is not None and first[1][0].isupper() and first[1].lower() in abbreviations.beginnings


def ends_with_initials(text: str) -> bool:
    """Whether a text ends with dotted single letters, as in J. K. and U.S."""
    return _INITIALS.search(text[-_NEAR:]) is not None


_ORDINAL = re.compile(r"(?<![\w.,:])(\d{1,2}|[IVX]{2,6})\.(?=[^\S\n]+([^\W\d_]+))")
_STREET = re.compile(r"(?<=[a-zäöüß])str\.(?=\s)")
_ROMAN = {"I": 1, "V": 5, "X": 10}
# After an apostrophe, espeak-ng reads this word in English.
_TODAY = re.compile(r"(?<=')aujourd'hui", re.IGNORECASE)


def _ordinal(match: re.Match[str]) -> str:
    """A German ordinal (number with a dot before a word) as a word. At the start of a line, it numbers a list."""
    words = match.string[max(0, match.start() - _NEAR) : match.start()].rsplit("\n", 1)[-1].split()
    before, names_king = [word.lower() for word in words], len(words) > 0 and words[-1][0].isupper()
    if not before or begins_sentence(match[2], "de"):
        return match[0]
    number = int(match[1]) if match[1].isdigit() else _of_roman(match[1])
    tens, unit = divmod(number, 10)
    first, units, tens_words = _ORDINALS["first"], _ORDINALS["units"], _ORDINALS["tens"]
    before_tens = f"{units[unit - 1]}und" if unit else ""
    spoken = first[number] if number < len(first) else f"{before_tens}{tens_words[tens - 2]}ste"
    of_preposition = before[-1] == "der" and len(before) > 1 and before[-2] in _ORDINALS["prepositions"]
    inflected = of_preposition or before[-1] in _ORDINALS["dative"]
    # A king's name, as in Ludwig XIV.
    article = "der " if match[1].isalpha() and names_king else ""
    return article + (f"{spoken}n" if inflected else spoken)


def _of_roman(text: str) -> int:
    digits = [_ROMAN[letter] for letter in text]
    pairs = zip(digits, [*digits[1:], 0], strict=True)
    return sum(-digit if digit < following else digit for digit, following in pairs)
