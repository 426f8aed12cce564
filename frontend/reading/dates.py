"""Writes out dates, days and years."""

import re
from functools import cache

from frontend.reading import units
from frontend.reading.languages import NEAR, Language, first_word, language, last_words
from frontend.reading.ordinals import english_ending

_ISO = re.compile(r"(?<![\w.,/-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\w-])")
# Days, months and years with dots or slashes. The last dot of 24.12. may end a sentence too.
_DOTTED = re.compile(r"(?<![\w.,/:])([0-3]?\d)\.\s?([01]?\d)\.(?:\s?([12]\d{3}|\d{2})(?![\w]|[.,]\d))?(?!\w)")
_SLASHED = re.compile(r"(?<![\w.,/:-])([0-3]?\d)([/-])([0-3]?\d)\2([12]\d{3})(?![\w/-]|[.,]\d)")
_YEAR = re.compile(r"(?<![\w.,'/:+€$£-])(1[1-9]\d\d|20[1-9]\d)(er|s)?(?![\w'/:%€$£]|[.,]\d|-\w)")
_YEARS = re.compile(r"(?<![\w.,'/:+€$£-])(1[1-9]\d\d)\s?[-–]\s?(1[1-9]\d\d|20\d\d|\d\d)(?![\w'/:%€$£-]|[.,]\d)")
_SHORT_DECADE = re.compile(r"(?<!\w)['’](\d)0s\b")
_DAY_BEFORE = re.compile(r"(?<!\d)[0-3]?\d(?:st|nd|rd|th)?(?: of)? $")
_DECADES = ("", "tens", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_MOST_MONTHS, _MOST_DAYS, _SHORT_YEAR = 12, 31, 2


def written_out(text: str, code: str) -> str:
    """The text with names of months and days, and years as one says them."""
    if (spoken := language(code)) is None:
        return text
    text = _days(code).sub(lambda match: _from_day_to_day(match, spoken), text)
    if not any(character.isdigit() for character in text):
        return text
    text = _ISO.sub(lambda match: _date(match[3], match[2], match[1], match, code, spoken), text)
    text = _DOTTED.sub(lambda match: _dotted(match, code, spoken), text)
    text = _SLASHED.sub(lambda match: _slashed(match, code, spoken), text)
    if code == "en":
        text = _english(text, spoken)
        text = _SHORT_DECADE.sub(lambda match: _DECADES[int(match[1])], text)
    if code not in ("en", "de"):
        # A year is a plain number.
        return text
    text = _YEARS.sub(lambda match: _from_year_to_year(match, code, spoken), text)
    return _YEAR.sub(lambda match: _year_in(match, code, spoken), text)


def _dotted(match: re.Match[str], code: str, spoken: Language) -> str:
    """A date, unless it is a version or a section: one without a year follows a word such as "am"."""
    day, month, year = match.groups()
    words = [word.lower() for word in last_words(match.string[max(0, match.start() - NEAR) : match.start()])[-1:]]
    if not spoken.words("not_names", "versions").isdisjoint(words):
        return match[0]
    is_whole = year and (len(year) > _SHORT_YEAR or len(day) == len(month) == _SHORT_YEAR)
    is_date = is_whole or not spoken.words("before", "dates").isdisjoint(words)
    return _date(day, month, year, match, code, spoken) if is_date else match[0]


def _slashed(match: re.Match[str], code: str, spoken: Language) -> str:
    one, _, other, year = match.groups()
    american = code == "en" and int(one) <= _MOST_MONTHS
    return _date(*((other, one) if american else (one, other)), year, match, code, spoken)


def _date(day: str, month: str, year: str | None, match: re.Match[str], code: str, spoken: Language) -> str:
    if not (0 < int(month) <= _MOST_MONTHS and 0 < int(day) <= _MOST_DAYS):
        return match[0]
    name = spoken.tables["dates"]["months"].split()[int(month) - 1]
    if year and len(year) == 2:
        year = f"{19 if int(year) > 50 else 20}{year}"
    said = f"{_day(int(day), name, code)}{f' {year}' if year else ''}"
    behind = match.string[match.end() : match.end() + NEAR]
    ends = match[0].endswith(".") and (not behind.strip() or first_word(behind)[:1].isupper())
    return f"{said}{'.' if ends else ''}"


def _day(day: int, month: str, code: str) -> str:
    match code:
        case "en":
            return f"{month} {day}{english_ending(day)}"
        case "de":
            return f"{day}. {month}"
        case "fr":
            return f"{'1er' if day == 1 else day} {month}"
        case _:
            return f"{'1º' if day == 1 else day} {month}"


@cache
def _days(code: str) -> re.Pattern[str]:
    """From one day to another, such as Mo–Fr and Mon.-Fri."""
    spoken = language(code)
    days = "|".join(spoken.tables["abbreviations"]["days"] if spoken else ())
    return re.compile(rf"(?<!\w)({days})\.?\s?[-–]\s?({days})(?!\w)(?:\.(?!\s*$|\s+[^\W\d_]))?", re.IGNORECASE)


def _from_day_to_day(match: re.Match[str], spoken: Language) -> str:
    days = spoken.tables["abbreviations"]["days"]
    one, other = (days[each.lower()] for each in match.groups())
    return f"{one} {spoken.tables['signs']['to']} {other}"


@cache
def _months() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """English days that are written short before a month; and months with the day and the year behind them."""
    spoken = language("en")
    tables = spoken.tables if spoken else {}
    months = "|".join([*map(str.capitalize, tables["abbreviations"]["months"]), *tables["dates"]["months"].split()])
    days = "|".join(map(str.capitalize, tables["abbreviations"]["days"]))
    day, year = r"(?: ([0-3]?\d)(?:st|nd|rd|th)?(?!\w|[:.,]\d|[-–/]))?", r"(?:(,? )([12]\d{3})(?!\w|[.,]\d))?"
    return (
        re.compile(rf"(?<!\w)({days})\.?(?=,? (?:{months})\b)"),
        re.compile(rf"(?<!\w)({months})\b(?:\.(?=\s\d|,|\s[a-z]))?{day}{year}"),
    )


def _english(text: str, spoken: Language) -> str:
    days, months = _months()
    short = spoken.tables["abbreviations"]

    def said(match: re.Match[str]) -> str:
        month, day, joint, year = match.groups()
        if not (day or year or _DAY_BEFORE.search(match.string[max(0, match.start() - NEAR) : match.start()])):
            return match[0]
        before = last_words(match.string[max(0, match.start() - NEAR) : match.start()])
        behind = first_word(match.string[match.end() : match.end() + NEAR])
        if day and not year and behind[:1].islower() and before[-1:] in (["In"], ["in"]):
            # "In May 12 people came."
            return match[0]
        name: str = short["months"].get(month.lower(), month)
        ordinal = f" {day}{english_ending(int(day))}" if day else ""
        return f"{name}{ordinal}{joint + _english_year(year) if year else ''}"

    return months.sub(said, days.sub(lambda match: str(short["days"][match[1].lower()]), text))


def _english_year(year: str) -> str:
    century, rest = year[:2], int(year[2:])
    if century == "20" and rest < 10:
        return year
    if not rest:
        return f"{century} hundred"
    return f"{century} {'oh ' if rest < 10 else ''}{rest}"


def _year_in(match: re.Match[str], code: str, spoken: Language) -> str:
    year, decade = match.groups()
    if code == "de" and decade == "er" and year < "2000":
        return f"{_german_century(year, spoken)}hundert{year[2:]}er"
    if code == "en" and decade == "s" and year[3] == "0":
        return f"{year[:2]} {_DECADES[int(year[2])] or 'hundreds'}"
    return match[0] if decade or not _is_year(match, code, spoken) else _year(year, code, spoken)


def _year(year: str, code: str, spoken: Language) -> str:
    if code == "en":
        return _english_year(year)
    rest = str(int(year[2:])) if int(year[2:]) else ""
    return f"{_german_century(year, spoken)}hundert{rest}" if year < "2000" else year


def _from_year_to_year(match: re.Match[str], code: str, spoken: Language) -> str:
    one, other = match.groups()
    if int(other) <= int(one[-len(other) :]):
        return match[0]
    end = _year(other, code, spoken) if len(other) > _SHORT_YEAR else other
    return f"{_year(one, code, spoken)} {spoken.tables['signs']['to']} {end}"


def _german_century(year: str, spoken: Language) -> str:
    """The number of hundreds, from the ordinal: neunzehn from neunzehnte."""
    ordinals: str = spoken.tables["ordinals"]["first"]
    return ordinals.split()[int(year[:2])].removesuffix("te")


def _is_year(match: re.Match[str], code: str, spoken: Language) -> bool:
    """Whether a number of four digits is a year, by the words beside it."""
    before = match.string[max(0, match.start() - NEAR) : match.start()]
    behind = match.string[match.end() : match.end() + NEAR]
    words = last_words(before)
    if units.begin(behind, code):
        return False
    if before.rstrip(" ").endswith(("(", "–", "©")) and behind[:1] in (")", "–", "-", ",", ""):
        return True
    if re.match(r"[.!?,;)]?$|[.!?,;)]\s", behind):
        # A count has a noun, and prices of this size are said so too.
        return True
    if not words:
        # "1989 fiel die Mauer": nouns have a capital.
        return code == "de" and behind[:1] == " " and behind[1:2].islower()
    return words[-1].lower() in spoken.words("dates", "before_years") and not before.rstrip(" ").endswith(
        (".", "!", "?")
    )
