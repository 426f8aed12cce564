"""Writes out signs between numbers, ranges and fractions."""

import re
from functools import cache

from frontend.reading.languages import NEAR, Language, language, last_words

_NUMERO = re.compile(r"№\s?|(?<!\w)[nN][°º]\s?(?=\d)|(?<!\w)#(?=\d)")
# A number, or a single letter as in algebra.
_LEFT, _RIGHT = r"(?<=[\d)²³%])", r"(?=[-−+]?[\d(])"
_LETTER_LEFT, _LETTER_RIGHT = r"(?<![^\W_].)(?<=[^\W\d_])", r"(?=[-−]?(?:\d|[^\W\d_](?![^\W_])))"
_RANGE = re.compile(r"(?<![\w.,/:+-])(\d{1,4}(?:[.,]\d+)?)( ?)([-–])( ?)(\d{1,4}(?:[.,]\d+)?)(?!\d|[-–/:]\w|[.,]\d)")
# A sign of a calculation, or a word behind it: "10 - 2 is 8".
_RESULT = re.compile(
    r"\d\s[-–]\s\d+\s(?:is|are|makes?|equals?|ist|macht|gibt|sind|fait|font|égale?|fa|uguale|è)\b|\d\s[/×÷*+]\s\d"
    r"|\b(?:calculate|subtract|compute|rechne|berechne|calcule[rz]?|calcola\w*)\b",
    re.IGNORECASE,
)
_MINUS = re.compile(
    rf"(?:{_LEFT}|{_LETTER_LEFT})\s[-–]\s(?:{_RIGHT}|{_LETTER_RIGHT})|(?<=\d)-(?=\d+\s?=)|(?<=[=+] \d)-(?=\d)"
)
_NEGATIVE = re.compile(r"(?<![\w.,)–-])[−–](?=\d)|(?<![^\s(])(?<!\d\s)-(?=\d)|(?<=[(=<>*/×] )-(?=\d)|−(?=\s?\d)")
# Thousands are apart by spaces, and the French say "2 heures et demie".
_GROUPS = re.compile(r"(?<![\w.,'’])(?<!\d\s)\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d|\s\d)")
_HALVES = re.compile(r"(?<![\w.,])(\d{1,3})\s?½ ([^\W\d_]+)")
_FRACTION = re.compile(r"(?<![\w.,/:])(?:(\d{1,3})[ -])?(\d{1,2})[/⁄](\d{1,3})(?![\w/]|[.,]\d)")
_MIXED = re.compile(r"(?<![\w.,])(\d{1,3})\s?([½¼¾⅓⅔])")
_SINGLE = re.compile(r"[½¼¾⅓⅔]")
_VULGAR = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
# "1915-1918" has no word between in Italian.
_FIRST_YEAR = 1000
_LONGEST_SCORE = 3
_DASHED = re.compile(r"(?<=[^\W_])(?:—|\s[-–—]\s)(?=[\w\"'«„“])")
_COMMA = re.compile(r"(?<=[^\W\d_]{2}),(?=[^\W\d_]{2})")


def written_out(text: str, code: str) -> str:
    """The text with words for signs between numbers, for ranges and fractions, and commas for dashes."""
    if (spoken := language(code)) is None:
        return text
    signs: dict[str, str] = spoken.tables["signs"]
    text = _GROUPS.sub(lambda match: _joined(match, spoken), text) if code != "en" else text
    text = _HALVES.sub(r"\1 \2 et demi", text) if code == "fr" else text
    text = _NUMERO.sub(f"{signs['number']} ", text)
    text = _MIXED.sub(lambda match: _fraction(spoken, match[0], _VULGAR[match[2]], match[1]), text)
    text = _FRACTION.sub(lambda match: _fraction(spoken, match[0], f"{match[2]}/{match[3]}", match[1]), text)
    text = _SINGLE.sub(lambda match: _fraction(spoken, match[0], _VULGAR[match[0]]), text)
    is_equation = "=" in text or _RESULT.search(text) is not None
    text = text if is_equation else _RANGE.sub(lambda match: _range(match, spoken), text)
    if is_equation:
        text = _MINUS.sub(f" {signs['minus']} ", text)
    text = _NEGATIVE.sub(f"{signs['minus']} ", text)
    for pattern, word in _between(code):
        text = pattern.sub(word, text)
    return _COMMA.sub(", ", _DASHED.sub(", ", text))


def _joined(match: re.Match[str], spoken: Language) -> str:
    """A number whose thousands are apart by spaces, unless it is a list of numbers."""
    words = [word.lower() for word in last_words(match.string[max(0, match.start() - NEAR) : match.start()])[-1:]]
    groups = match[0].split()
    is_list = len(groups) > 2 and len(groups[0]) == 3 or not spoken.words("before", "numbered").isdisjoint(words)
    return match[0] if is_list else "".join(groups)


def _range(match: re.Match[str], spoken: Language) -> str:
    """A range, if the second number is larger, or a score, or two numbers."""
    one, space, dash, other_space, other = match.groups()
    signs = spoken.tables["signs"]
    words = last_words(match.string[max(0, match.start() - NEAR) : match.start()])
    previous = words[-1].lower() if words else ""
    begin, end = (float(each.replace(",", ".")) for each in (one, other))
    if space != other_space:
        return match[0]
    is_name = dash == "-" and (
        previous in spoken.words("not_names", "ranges")
        or len(words) > 1
        and words[-1][0].isupper()
        and not spoken.tables["nouns_have_capitals"]
    )
    if is_name and not space:
        return match[0]
    if one == other or space and previous in spoken.words("roman", "parts") | spoken.words("before", "numbered"):
        return f"{one}, {other}" if space else f"{one} {other}"
    if begin < end and signs["from"] and begin >= _FIRST_YEAR:
        return f"{one}, {other}"
    if begin < end or dash == "–" and not space:
        start = "" if previous in spoken.words("not_names", "from") else signs["from"]
        return f"{start}{one} {signs['to']} {other}"
    is_score = one.isdigit() and other.isdigit() and len(one) < _LONGEST_SCORE and len(other) < _LONGEST_SCORE
    return f"{one} {signs['ratio']} {other}" if is_score else f"{one}, {other}" if space else match[0]


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
    if not whole:
        return name
    # German "eineinhalb".
    whole = behind.get(whole, whole)
    return behind.get(fraction, f"{{}} {behind['and']} {name}").format(whole)


@cache
def _between(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Signs between numbers or single letters, each with its word."""
    spoken = language(code)
    signs = spoken.tables["signs"] if spoken else {}
    operand = rf"(?:{_LEFT}|{_LETTER_LEFT})\s?{{}}\s?(?:{_RIGHT}|{_LETTER_RIGHT})"
    words = {"<": "less", ">": "greater", "=": "equals", "÷": "divided", "±": "plus_minus", "≠": "unequal"}
    pairs = [(operand.format(re.escape(sign)), signs[name]) for sign, name in words.items()]
    pairs += [
        (
            rf"{_LEFT}\s?[×*]\s?{_RIGHT}|{_LEFT}(?<!\b0)\s?x\s?{_RIGHT}|{_LETTER_LEFT}\s[×*]\s{_LETTER_RIGHT}",
            signs["times"],
        ),
        (rf"(?:{_LEFT}|{_LETTER_LEFT})\s/\s(?:{_RIGHT}|{_LETTER_RIGHT})", signs["divided"]),
        (rf"(?:{_LEFT}|{_LETTER_LEFT})\s\+\s(?:{_RIGHT}|{_LETTER_RIGHT})", signs["plus"]),
        (r"\s&\s", signs["and"]),
        (r"(?<=\s)#(?!\S)", signs["hash"]),
        (r"(?<![\w<>=])<(?!3(?![\w.,]))\s?(?=\d)", signs["less"]),
        (r"\s=\s", signs["equals"]),
        (r"(?<![\w<>=-])>\s?(?=\d)", signs["greater"]),
        (r"(?<!\w)±\s?(?=\d)", signs["plus_minus"]),
        (r"(?<=\d[.,]\d)/(?=\d+(?![\w/]))", signs["out_of"]),
        (r"(?<=[^\W\d_])/(?=[^\W\d_])|(?<=\d)/(?=\d)", ""),
        (r"(?<=[AP]M)\s?[-–]\s?(?=\d)", signs["to"]),
    ]
    return tuple((re.compile(pattern), f" {word} " if word else " ") for pattern, word in pairs)
