"""Writes out signs between numbers, ranges and fractions."""

import re
from functools import cache

from frontend.text.reading.languages import Language, language

_NUMERO = re.compile(r"№\s?|(?<!\w)[nN][°º]\s?(?=\d)|#(?=\d)")
# A number, or a single letter as in algebra.
_LEFT, _RIGHT = r"(?<=[\d)²³%])", r"(?=[-−+]?[\d(])"
_LETTER_LEFT, _LETTER_RIGHT = r"(?<![^\W_].)(?<=[^\W\d_])", r"(?=[-−]?(?:\d|[^\W\d_](?![^\W_])))"
_RANGE = re.compile(r"(?<![\w.,/:+-])(\d{1,4}(?:[.,]\d+)?)( ?)([-–])( ?)(\d{1,4}(?:[.,]\d+)?)(?!\d|[-–/:]\d|[.,]\d)")
_MINUS = re.compile(rf"{_LEFT}\s[-–]\s{_RIGHT}")
_LETTERS_MINUS = re.compile(rf"(?:{_LEFT}|{_LETTER_LEFT})\s[-–]\s(?:{_RIGHT}|{_LETTER_RIGHT})")
_NEGATIVE = re.compile(r"(?<![\w.,)–-])[−–](?=\d)|(?<![^\s(])(?<!\d\s)-(?=\d)|(?<=[(=<>*/×] )-(?=\d)|−(?=\s?\d)")
# Thousands are apart by spaces, and the French say "2 heures et demie".
_GROUPS = re.compile(r"(?<![\w.,])(?<!\d\s)\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d|\s\d)")
_HALVES = re.compile(r"(?<![\w.,])(\d{1,3})\s?½ ([^\W\d_]+)")
_FRACTION = re.compile(r"(?<![\w.,/:])(?:(\d{1,3})[ -])?(\d{1,2})[/⁄](\d{1,3})(?![\w/]|[.,]\d)")
_MIXED = re.compile(r"(?<![\w.,])(\d{1,3})\s?([½¼¾⅓⅔])")
_SINGLE = re.compile(r"[½¼¾⅓⅔]")
_VULGAR = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
# "1915-1918" has no word between in Italian.
_FIRST_YEAR = 1000
_DASHED = re.compile(r"(?<=[^\W_])(?:—|\s[-–—]\s)(?=[\w\"'«„“])")
_COMMA = re.compile(r"(?<=[^\W\d_]{2}),(?=[^\W\d_]{2})")


def written_out(text: str, code: str) -> str:
    """The text with words for signs between numbers, for ranges and fractions, and commas for dashes."""
    if (spoken := language(code)) is None:
        return text
    signs: dict[str, str] = spoken.tables["signs"]
    text = _GROUPS.sub(lambda match: re.sub(r"\s", "", match[0]), text) if code != "en" else text
    text = _HALVES.sub(r"\1 \2 et demi", text) if code == "fr" else text
    text = _NUMERO.sub(f"{signs['number']} ", text)
    text = _MIXED.sub(lambda match: _fraction(spoken, match[0], _VULGAR[match[2]], match[1]), text)
    text = _FRACTION.sub(lambda match: _fraction(spoken, match[0], f"{match[2]}/{match[3]}", match[1]), text)
    text = _SINGLE.sub(lambda match: _fraction(spoken, match[0], _VULGAR[match[0]]), text)
    is_equation = "=" in text
    text = _RANGE.sub(lambda match: _range(match, is_equation, signs), text)
    text = (_LETTERS_MINUS if is_equation else _MINUS).sub(f" {signs['minus']} ", text)
    text = _NEGATIVE.sub(f"{signs['minus']} ", text)
    for pattern, word in _between(code):
        text = pattern.sub(word, text)
    return _COMMA.sub(", ", _DASHED.sub(", ", text))


def _range(match: re.Match[str], is_equation: bool, signs: dict[str, str]) -> str:
    """A range, if the second number is larger, or a score."""
    one, space, dash, other_space, other = match.groups()
    if one == other:
        return f"{one} {other}"
    begin, end = (float(each.replace(",", ".")) for each in (one, other))
    ascends = begin < end
    if space != other_space or is_equation and (space or dash == "-"):
        return match[0]
    if ascends and signs["from"] and begin >= _FIRST_YEAR:
        return f"{one}, {other}"
    if ascends or dash == "–" and not space:
        return f"{signs['from']}{one} {signs['to']} {other}"
    is_score = not space and one.isdigit() and other.isdigit() and one != other
    return f"{one} {signs['ratio']} {other}" if is_score and len(one) < 3 else match[0]


def _fraction(spoken: Language, written: str, fraction: str, whole: str | None = None) -> str:
    """A fraction such as 2/3, or a number and a fraction, in words."""
    names: dict[str, str] = spoken.tables["fractions"]
    over, under = fraction.split("/")
    name = names.get(fraction)
    if name is None and under in names and 1 < int(over) < int(under):
        name = f"{over} {names[under]}"
    if name is None:
        is_share = whole is None and under in ("10", "20", "100") and int(over) <= int(under)
        return f"{over} {spoken.tables['signs']['out_of']} {under}" if is_share else written
    behind: dict[str, str] = spoken.tables["fractions_behind_numbers"]
    return behind.get(fraction, f"{{}} {behind['and']} {name}").format(whole) if whole else name


@cache
def _between(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Signs between numbers or single letters, each with its word."""
    spoken = language(code)
    signs = spoken.tables["signs"] if spoken else {}
    operand = rf"(?:{_LEFT}|{_LETTER_LEFT})\s?{{}}\s?(?:{_RIGHT}|{_LETTER_RIGHT})"
    words = {"<": "less", ">": "greater", "=": "equals", "÷": "divided", "±": "plus_minus", "≠": "unequal"}
    pairs = [(operand.format(re.escape(sign)), signs[name]) for sign, name in words.items()]
    pairs += [
        (rf"{_LEFT}\s?[×*]\s?{_RIGHT}|{_LEFT}\s?x\s?{_RIGHT}|{_LETTER_LEFT}\s[×*]\s{_LETTER_RIGHT}", signs["times"]),
        (rf"(?:{_LEFT}|{_LETTER_LEFT})\s/\s(?:{_RIGHT}|{_LETTER_RIGHT})", signs["divided"]),
        (rf"(?:{_LEFT}|{_LETTER_LEFT})\s\+\s(?:{_RIGHT}|{_LETTER_RIGHT})", signs["plus"]),
        (r"\s&\s", signs["and"]),
        (r"(?<=\s)#(?!\S)", signs["hash"]),
        (r"(?<![\w<>=])<\s?(?=\d)", signs["less"]),
        (r"(?<![\w<>=-])>\s?(?=\d)", signs["greater"]),
        (r"(?<!\w)±\s?(?=\d)", signs["plus_minus"]),
        (r"(?<=[^\W\d_])/(?=[^\W\d_])|(?<=\d)/(?=\d)", ""),
        (r"(?<=[AP]M)\s?[-–]\s?(?=\d)", signs["to"]),
    ]
    return tuple((re.compile(pattern), f" {word} " if word else " ") for pattern, word in pairs)
