"""Writes out units behind numbers, such as 5 km and 20 m²."""

import re
from functools import cache

from frontend.text.reading.languages import language

# Letters that mean a unit only with a space before them: "5G" is a network, and "an iPhone 5s" a telephone.
_SPACED = frozenset("sgGtAVWNJKCF")


def written_out(text: str, code: str) -> str:
    """The text with names of units."""
    if (spoken := language(code)) is None:
        return text
    units: dict[str, str] = spoken.tables["units"]

    def said(match: re.Match[str]) -> str:
        number, space, unit = match.groups()
        if not space and unit in _SPACED:
            return match[0]
        one, many = units[unit].split("|")
        return one if number == "1" else f"{number} {many}"

    return _pattern(code).sub(said, text)


@cache
def _pattern(code: str) -> re.Pattern[str]:
    spoken = language(code)
    names = sorted(spoken.tables["units"] if spoken else (), key=len, reverse=True)
    # A number as in 1,250.5, and a unit that no letter, digit or power follows.
    return re.compile(
        rf"(?<![\w.,])(\d+(?:[.,]\d+)*)(\s?)({'|'.join(map(re.escape, names))})(?![\w²³°/'’])(?:\.(?=\s+[a-zà-ÿ]))?"
    )
