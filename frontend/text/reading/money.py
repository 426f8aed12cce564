"""Writes out amounts of money, such as $5.3 billion and CHF 12.50."""

import re
from functools import cache

from frontend.text.reading.languages import NEAR, Language, first_word, language, last_words

# Marks of thousands: 1,250 and 1.250 and 1'250 and 1 250.
_THOUSANDS = "[.,'’\u00a0\u202f\u2009 ]"
_AMOUNT = rf"(?:\d{{1,3}}(?:{_THOUSANDS}\d{{3}}){{1,4}}|\d+)(?:[.,]\d{{1,2}})?(?!\d)"
_PARTS = re.compile(r"(.*?)(?:[.,](\d{1,2}))?")
# As in 20.- and 20.–, which have no cents.
_NO_CENTS = r"(?:[.,](?:-|–|—)+)?"


def written_out(text: str, code: str) -> str:
    """The text with the currency behind the amount, as one says it, and cents behind that."""
    if (spoken := language(code)) is None or not any(character.isdigit() for character in text):
        return text
    for pattern in _patterns(code):
        text = pattern.sub(lambda match: _said(match, spoken), text)
    return text


@cache
def _patterns(code: str) -> tuple[re.Pattern[str], ...]:
    """Amounts behind the sign of a currency, and before it."""
    spoken = language(code)
    money = spoken.tables["money"] if spoken else {}
    signs, scales = (
        "|".join(map(re.escape, sorted(money[names], key=len, reverse=True))) for names in ("currencies", "scales")
    )
    amount = rf"(?P<amount>{_AMOUNT}){_NO_CENTS}(?:\s?[-–]\s?(?:{signs})?\s?(?P<to>{_AMOUNT}){_NO_CENTS})?"
    amount += rf"(?:\s?(?P<scale>{scales})(?![^\W\d_])\.?)?"
    minus = r"(?P<minus>(?<![\w.,])[-−–])?"
    return (
        re.compile(rf"(?<![\w$€£¥]){minus}(?P<sign>{signs})\s?{amount}"),
        re.compile(rf"(?<![\w.,]){minus}{amount}\s?(?P<sign>{signs})(?![\w$€£¥])"),
    )


def _said(match: re.Match[str], spoken: Language) -> str:
    signs, money = spoken.tables["signs"], spoken.tables["money"]
    one, many, cents = money["currencies"][match["sign"]].split("|")
    if _is_adjective(match, spoken):
        one = many = one.split()[-1]
    if match["scale"]:
        said = f"{_range(match, spoken)} {money['scales'][match['scale']]} {_of(money['of'], many)}"
    elif match["to"]:
        said = f"{_range(match, spoken)} {many}"
    else:
        said = _amount(match["amount"], one, many, cents, spoken)
    behind = match.string[match.end() :][:NEAR]
    # The dot of "45.50 Fr." ends a sentence too.
    ends = match[0].endswith(".") and (not behind.strip() or first_word(behind)[:1].isupper())
    return f"{signs['minus'] + ' ' if match['minus'] else ''}{said}{'.' if ends else ''}"


def _of(word: str, currency: str) -> str:
    """The currency behind millions, such as d'euros and di dollari."""
    if not word:
        return currency
    return f"d'{currency}" if word == "de" and currency[0] in "aeiouy" else f"{word} {currency}"


def _amount(amount: str, one: str, many: str, cents: str, spoken: Language) -> str:
    whole, fraction = _parts(amount)
    said = one if int(whole) == 1 else f"{whole} {many}"
    if fraction is None or not int(fraction):
        return said
    if len(fraction) == 1:
        return f"{_number(amount, spoken)} {many}"
    if not int(whole):
        return f"{int(fraction)} {cents}"
    template: str = spoken.tables["money"]["with_cents"]
    return template.format(amount=said, cents=int(fraction), name=cents)


def _parts(amount: str) -> tuple[str, str | None]:
    """The digits before the cents, and those of the cents."""
    whole, fraction = _PARTS.fullmatch(amount).groups()  # type: ignore[union-attr]  # it matches any text
    return re.sub(r"\D", "", whole), fraction


def _range(match: re.Match[str], spoken: Language) -> str:
    numbers = [_number(each, spoken) for each in (match["amount"], match["to"]) if each]
    return f" {spoken.tables['signs']['to']} ".join(numbers)


def _number(amount: str, spoken: Language) -> str:
    """An amount with the decimal sign of the language, and without those of thousands."""
    whole, fraction = _parts(amount)
    return whole if fraction is None else f"{whole}{spoken.tables['money']['point']}{fraction}"


def _is_adjective(match: re.Match[str], spoken: Language) -> bool:
    """Whether an English amount stands between an article and a noun, as in a $20 bill."""
    words = last_words(match.string[max(0, match.start() - NEAR) : match.start()])
    noun = first_word(match.string[match.end() :][:NEAR])
    is_noun = noun[:1].islower() and noun not in spoken.openers
    return is_noun and bool(words) and words[-1].lower() in spoken.words("money", "articles")
