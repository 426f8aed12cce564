"""Writes out amounts of money, such as $5.3 billion and CHF 12.50."""

import re
from functools import cache

from frontend.reading.languages import NEAR, Language, first_word, is_adjective, language, last_words

# An amount has no more than four marks of thousands, of which 1'250 and 1 250 are the same everywhere.
_AMOUNT = r"(?:\d{{1,3}}(?:[{mark}'’\u00a0\u202f\u2009 ]\d{{3}}){{1,4}}|\d+)(?:[.,]\d{{1,4}})?(?![.,]?\d)"
_PARTS = {mark: re.compile(rf"(.*?)(?:[.,](\d{{1,2}}|\d{{4}})|[{other}](\d{{3}}))?") for mark, other in (".,", ",.")}
# As in 20.- and 20.–, which have no cents.
_NO_CENTS = r"(?:[.,](?:-|–|—)+)?"

_CENTS = 2
_CLOCK = re.compile(r"\s?(?:Uhr|h)\b|:\d\d|\.\s[A-ZÄÖÜ]|\s?[-–]\s?\d{1,2}(?:[:.]\d\d)?\s?Uhr")


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
    one = _AMOUNT.format(mark=money["thousands"])
    # "$1M-2M" says the scale twice.
    amount = rf"(?P<amount>{one}){_NO_CENTS}(?:(?:{scales})?\s?[-–]\s?(?:{signs})?\s?(?P<to>{one}){_NO_CENTS})?"
    scale = rf"(?:\s?(?P<scale>{scales})(?![^\W\d_])"
    minus = r"(?P<minus>(?<![\w.,])[-−–])?"
    return (
        re.compile(rf"(?<![\w$€£¥]){minus}(?P<sign>{signs})\s?{amount}{scale}(?:\.(?=\s[a-zà-ÿ]))?)?"),
        re.compile(rf"(?<![\w.,]){minus}{amount}{scale}\.?)?\s?(?P<sign>{signs})(?![\w$€£¥])"),
    )


def _said(match: re.Match[str], spoken: Language) -> str:
    signs, money = spoken.tables["signs"], spoken.tables["money"]
    before = match.string[max(0, match.start() - NEAR) : match.start()]
    behind = match.string[match.end() : match.end() + NEAR]
    if match["sign"] == "Fr." and _is_friday(before, behind, spoken):
        return match[0]
    one, many, cents = money["currencies"][match["sign"]].split("|")
    if is_adjective(match, spoken):
        one = many = one.split()[-1]
    if match["scale"]:
        scale = money["scales"][match["scale"]]
        joint = "" if scale in ("mille", "mila") else money["of"]
        said = f"{_range(match, spoken)} {scale} {_of(joint, many)}"
    elif match["to"]:
        said = f"{_range(match, spoken)} {many}"
    else:
        said = _amount(match["amount"], one, many, cents, spoken)
    # The dot of "45.50 Fr." ends a sentence too.
    ends = match[0].endswith(".") and (not behind.strip() or first_word(behind)[:1].isupper())
    return f"{signs['minus'] + ' ' if match['minus'] else ''}{said}{'.' if ends else ''}"


def _of(word: str, currency: str) -> str:
    """The currency behind millions, such as d'euros and di dollari."""
    if not word:
        return currency
    return f"d'{currency}" if word == "de" and currency[0] in "aeiouy" else f"{word} {currency}"


def _amount(amount: str, one: str, many: str, cents: str, spoken: Language) -> str:
    whole, fraction = _parts(amount, spoken)
    said = one if int(whole) == 1 else f"{whole} {many}"
    if fraction is None or not int(fraction):
        return said
    if len(fraction) != _CENTS:
        return f"{_number(amount, spoken)} {many}"
    name = cents.removesuffix("s") if int(fraction) == 1 else cents
    if not int(whole):
        return f"{int(fraction)} {name}"
    template: str = spoken.tables["money"]["with_cents"]
    return template.format(amount=said, cents=int(fraction), name=name)


def _parts(amount: str, spoken: Language) -> tuple[str, str | None]:
    """The digits before the decimal sign, and those behind it."""
    mark: str = spoken.tables["money"]["thousands"]
    found = _PARTS[mark].fullmatch(amount)
    assert found is not None
    whole, fraction, three = found.groups()
    return re.sub(r"\D", "", whole), fraction or three


def _is_friday(before: str, behind: str, spoken: Language) -> bool:
    """Whether "Fr." is the day: "Am Fr. 13. Mai", "Mo.–Fr. 9:00–18:00"."""
    words = last_words(before)
    is_day = before.rstrip().endswith(("–", "-")) or bool(words) and words[-1].lower() in spoken.words("before", "days")
    return is_day or _CLOCK.match(behind) is not None


def _range(match: re.Match[str], spoken: Language) -> str:
    numbers = [_number(each, spoken) for each in (match["amount"], match["to"]) if each]
    return f" {spoken.tables['signs']['to']} ".join(numbers)


def _number(amount: str, spoken: Language) -> str:
    """An amount with the decimal sign of the language, and without those of thousands."""
    whole, fraction = _parts(amount, spoken)
    return whole if fraction is None else f"{whole}{spoken.tables['money']['point']}{fraction}"
