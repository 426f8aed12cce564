"""Writes out times of day, scores and ratios."""

import re
from collections.abc import Callable

from frontend.reading.languages import NEAR, Language, language, last_words

_ENGLISH = re.compile(
    r"(?<![\w.,:/])(\d{1,2})(?::([0-5]\d))?(?:\s?([ap])(?:m\b|\.\s?m\b\.?))?(?![\w:]|[.,]\d)", re.IGNORECASE
)
_GERMAN = re.compile(r"(?<![\w.,:])(\d{1,2})(?:[:.]([0-5]\d)\s?(?:Uhr|h)\b|:([0-5]\d)(?![\w:]|[.,]\d)|h([0-5]\d)\b)")
_GERMAN_HOUR = re.compile(r"(?<=\b(?:[Uu]m|ab|Ab|is|on) )(\d{1,2})\s?h\b")
_FRENCH = re.compile(
    r"(?<![\w.,:])(\d{1,3})(?:\s?[hH]\s?([0-5]\d)?(?![\w'’])(?:\.(?=\s+[a-zà-ÿ]))?|:([0-5]\d)(?![\d:]|[.,]\d))"
)
_ITALIAN = re.compile(r"(?<![\w.,:])(\d{1,2})([:.])([0-5]\d)(?![\d:]|[.,]\d)")
_SPAN = re.compile(r"(?<![\w.,:])(\d{1,2}(?:[:.h][0-5]\d|h))\s?[-–]\s?(?=\d{1,2}(?:[:.h][0-5]\d|h))")
_GERMAN_SPAN = re.compile(r"(?<![\w.,:])(\d{1,2}[:.][0-5]\d)\s?[-–]\s?(?=\d{1,2}(?:[:.][0-5]\d)?\s?(?:Uhr|h)\b)")
_RATIO = re.compile(r"(?<![\w.,:])(\d{1,4}):(\d{1,6})(?![\w:]|[.,]\d)")
# "24h/24 et 7j/7".
_ALWAYS = re.compile(r"(?<![\w.,])(\d{1,2})\s?([hj])\s?/\s?(\d{1,2})(?!\w)")
_ALWAYS_IN = {"h": "heures", "j": "jours"}
# "72 h" is no time of day.
_DURATION = re.compile(r"\d+\s?[hH]\.?")
_HOURS = 24


def written_out(text: str, code: str) -> str:
    """The text with hours and minutes as one says them."""
    if (spoken := language(code)) is None or not any(character.isdigit() for character in text):
        return text
    pattern, said = _LANGUAGES[code]
    if code == "fr":
        text = _ALWAYS.sub(lambda match: f"{match[1]} {_ALWAYS_IN[match[2]]} sur {match[3]}", text)
    if code == "de":
        text = _GERMAN_HOUR.sub(r"\1 Uhr", _GERMAN_SPAN.sub(r"\1 Uhr bis ", text))
    text = _SPAN.sub(rf"\1 {spoken.tables['signs']['to']} ", text)

    def time(match: re.Match[str]) -> str:
        words = last_words(match.string[max(0, match.start() - NEAR) : match.start()])[-3:]
        is_ratio = not spoken.words("before", "ratios").isdisjoint(word.lower() for word in words)
        return (
            match[0]
            if int(match[1]) > _HOURS and not _DURATION.fullmatch(match[0]) or is_ratio
            else said(match, spoken)
        )

    text = pattern.sub(time, text)
    return _RATIO.sub(rf"\1 {spoken.tables['signs']['ratio']} \2", text)


def _english(match: re.Match[str], spoken: Language) -> str:
    hour, minutes, half = match.groups()
    if minutes is None and half is None:
        return match[0]
    said = f" {'oh ' if minutes[0] == '0' else ''}{int(minutes)}" if minutes and int(minutes) else ""
    if half:
        # The dot of "7 a.m." may end a sentence too: ``abbreviations`` decides.
        dot = "." if match[0].endswith(".") else ""
        return f"{hour}{said} {half.lower()}.m{dot}" if dot else f"{hour}{said} {half.upper()}M"
    return f"{hour}{said or _oclock(int(hour))}"


def _oclock(hour: int) -> str:
    return " o'clock" if 0 < hour <= _HOURS // 2 else " hundred hours"


def _german(match: re.Match[str], spoken: Language) -> str:
    hour, minutes = int(match[1]), int(match[2] or match[3] or match[4])
    return f"{'ein' if hour == 1 else hour} Uhr{f' {minutes}' if minutes else ''}"


def _french(match: re.Match[str], spoken: Language) -> str:
    hour, minutes = int(match[1]), int(match[2] or match[3] or 0)
    said = "une heure" if hour == 1 else f"{hour} heure{'s' if hour else ''}"
    return f"{said}{f' {minutes}' if minutes else ''}"


def _italian(match: re.Match[str], spoken: Language) -> str:
    hour, mark, minutes = match.groups()
    words = last_words(match.string[max(0, match.start() - NEAR) : match.start()])
    if mark == "." and spoken.words("before", "hours").isdisjoint(word.lower() for word in words[-4:]):
        return match[0]
    return f"{int(hour)}{f' e {int(minutes)}' if int(minutes) else ''}"


_LANGUAGES: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str], Language], str]]] = {
    "en": (_ENGLISH, _english),
    "de": (_GERMAN, _german),
    "fr": (_FRENCH, _french),
    "it": (_ITALIAN, _italian),
}
