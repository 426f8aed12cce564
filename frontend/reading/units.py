"""Writes out units behind numbers, such as 5 km and 20 m²."""

import re
from functools import cache

from frontend.reading.languages import NEAR, first_word, is_adjective, language

# Letters that mean a unit only with a space before them: "5G" is a network, and "an iPhone 5s" a telephone.
_SPACED = frozenset("sgGtAVWNJKCF")

# Digits. "200112L" is a number of a program.
_LONGEST_ATTACHED = 5


def written_out(text: str, code: str) -> str:
    """The text with names of units."""
    if (spoken := language(code)) is None:
        return text
    units: dict[str, str] = spoken.tables["units"]

    def said(match: re.Match[str]) -> str:
        number, space, unit = match.groups()
        behind = match.string[match.end() : match.end() + NEAR]
        if behind.startswith(".") and unit.lower() in spoken.tables["abbreviations"]["behind_numbers"]:
            # ``abbreviations`` decides whether a sentence ends.
            return match[0]
        if not space and (unit in _SPACED or len(number) > _LONGEST_ATTACHED):
            return match[0]
        # Italian "ha" is a verb.
        if unit in spoken.words("not_names", "units") and first_word(behind) not in spoken.words("behind", "units"):
            return match[0]
        one, many = units[unit].split("|")
        if is_adjective(match, spoken):
            return f"{number} {one.split(' ', 1)[1]}"
        return one if number == "1" else f"{number} {many}"

    return _pattern(code).sub(said, _per(code).sub(f" {spoken.tables['signs']['per']} ", text))


@cache
def _per(code: str) -> re.Pattern[str]:
    """The slash of "500 mg/day"."""
    spoken = language(code)
    words = "|".join(spoken.tables["signs"]["per_words"].split()) if spoken else ""
    return re.compile(rf"(?<=[^\W\d_])\s?/\s?(?=(?:{words})\b)")


def begin(text: str, code: str) -> bool:
    """Whether a text begins with a unit, as it stands behind a number."""
    return _pattern(code).match(f"1{text}") is not None


@cache
def _pattern(code: str) -> re.Pattern[str]:
    spoken = language(code)
    names = sorted(spoken.tables["units"] if spoken else (), key=len, reverse=True)
    # A number as in 1,250.5, and a unit that no letter, digit or power follows.
    return re.compile(
        rf"(?<![\w.,])(\d+(?:[.,]\d+)*)(\s?)({'|'.join(map(re.escape, names))})"
        r"(?![\w²³°/'’]|\.\s?\d)(?:\.(?=\s+[a-zà-ÿ]))?"
    )
