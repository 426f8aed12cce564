"""One spelling for texts that sound the same, so that a transcript has only errors that one can hear.

Beyond ``word_errors.spelled``: thousands, decimals, ordinals and years, currencies and percent, times of day ("8:30",
"8.30 Uhr", "halb neun"), "ß" as "ss", and compounds in one word or two. ``alike.toml`` has the rules of a language.
"""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from num2words import num2words

from lab.peers.word_errors import compared, spelled

_RULES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Longer rows of digits are no number that a person says, and num2words fails for the longest.
_NO_NUMBER = re.compile(r"\d{10,}")


def wrong(said: str, heard: str, language: str) -> tuple[int, int]:
    """The numbers of words said, and of those replaced, missing and added."""
    for hour, minute in re.findall(r"\b(\d\d?)[:h](\d\d)\b", said):
        # Whisper leaves the colon out at times.
        heard = re.sub(rf"\b{hour}{minute}\b", f"{hour}:{minute}", heard)
    one, other = alike(said, language), alike(heard, language)
    # Joined words bring errors where the same letters stand elsewhere too.
    return len(one), min(compared(one, other), compared(_joined(one, other), _joined(other, one)))


def alike(text: str, language: str) -> list[str]:
    """The words of a text, in the one spelling."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("o'clock", "oclock")
    if language == "en":
        text = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    text = _numbers(_amounts(_years(text, language), language), language)
    return _tidy([_plain(word) for word in spelled(text, language)], language)


def _plain(word: str) -> str:
    return word.replace("ß", "ss").replace("œ", "oe")


def _years(text: str, language: str) -> str:
    """The text with years in words: numbers of four digits without a mark of thousands, which are no amounts."""
    rules = _RULES[language]
    year = rf"(?<![\d.,€$£])(1[1-9]\d\d|20[1-9]\d)(?![.,]?\d|\s?[€$£]| ({rules['currencies']}))"
    return re.sub(year, lambda at: num2words(int(at[1]), lang=language, to="year"), text) if rules["years"] else text


def _amounts(text: str, language: str) -> str:
    """Thousands without a mark, and "€12.50" as "12 euro 50"."""
    rules = _RULES[language]
    signs, currencies = rules["signs"], rules["currencies"]
    text = re.sub(
        rf"(?<![\d.,])[1-9]\d?\d?([{rules['thousands']}]\d{{3}})+(?!\d)", lambda at: re.sub(r"\D", "", at[0]), text
    )
    text = re.sub(r"(?<=\d)\s*([ap])\.?\s?m\b\.?|\b([ap])\.\s?m\b\.?", lambda at: f" {at[1] or at[2]}m", text)
    text = re.sub(r"(€|\$|£|\bchf)\s*(\d+([.,]\d\d)?)", r"\2 \1", text)
    every = "|".join(re.escape(sign) for sign in signs)
    text = re.sub(rf"(?<=\d)\s*({every})(?!\w)", lambda at: f" {signs[at[1]]}", text)
    text = re.sub(rf"(\d+)[.,]00 ({currencies})\b", r"\1 \2", text)
    return re.sub(rf"(\d+)[.,](\d\d) ({currencies})\b", r"\1 \3 \2", text)


def _numbers(text: str, language: str) -> str:
    """The text with numbers in words, if they are no plain cardinal numbers."""
    rules = _RULES[language]
    hours = {num2words(hour, lang=language): hour for hour in range(1, 13)}
    half = rules["half"].format(rf"\b(?P<hour>{'|'.join(hours)}|\d\d?)") + r"\b"
    text = re.sub(half, lambda at: f"{(hours.get(at['hour']) or int(at['hour'])) + rules['hours_on'] or 12} 30", text)
    time = rf"(?<![\d.,])(\d|[01]\d|2[0-4])({rules['time']})([0-5]\d)(?!\d)"
    text = re.sub(time, lambda at: f"{int(at[1])} {int(at[3]) or ''} ", text)
    for ordinal in rules["ordinals"]:
        text = re.sub(
            ordinal.replace("{months}", rules.get("months", "")),
            lambda at: at.groupdict().get("before", "") + num2words(int(at["n"]), lang=language, to="ordinal"),
            text,
        )
    text = re.sub(r"(\d+)[.,](\d+)", lambda at: f"{at[1]} {rules['point']} {' '.join(at[2])}", text)
    return _NO_NUMBER.sub(lambda at: " ".join(at[0]), text)


def _tidy(words: Sequence[str], language: str) -> list[str]:
    """The words without those that may be left out, and without endings of German ordinals."""
    rules, numbers, kept = _RULES[language], _number_words(language), list[str]()
    for at, word in enumerate(words):
        last, following = kept[-1] if kept else "", words[at + 1] if at + 1 < len(words) else ""
        is_amount = last in numbers or re.fullmatch(rules["currencies"], last)
        if last in numbers and word in rules["silent"] or is_amount and word == rules["joint"] and following in numbers:
            continue
        if language == "de":
            word = re.sub("ein(?=hundert|tausend)", "", word)
            word = word[:-1] if word[:-1] in _ordinals() else word
        kept.append(rules["same"].get(word, word))
    return kept


@cache
def _number_words(language: str) -> frozenset[str]:
    """The words that numbers up to a hundred, and a thousand, consist of."""
    found = {_plain(word) for number in (*range(101), 1000) for word in spelled(str(number), language)}
    return frozenset(found | {_RULES[language]["same"].get(word, word) for word in found})


@cache
def _ordinals() -> frozenset[str]:
    return frozenset(_plain(num2words(number, lang="de", to="ordinal")) for number in range(1, 101))


def _joined(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """The words, with two in one if the others have them so."""
    known, joined = set(others), list[str]()
    for word in words:
        if joined and joined[-1] + word in known:
            word = joined.pop() + word
        joined.append(word)
    return joined
