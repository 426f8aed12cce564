"""Writes out ordinals and Roman numbers, which espeak-ng reads as plain numbers or as letters."""

import re

from frontend.reading.languages import NEAR, Language, first_word, language, last_words

_ROMAN = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"
_VALUES = {"I": 1, "V": 5, "X": 10}
# A number behind a name or a word such as chapter.
_NUMBERED = re.compile(rf"(?<![\w'])([^\W\d_]+) ({_ROMAN})(?![\w'’-]|\.\w|\.\s[a-zà-ÿ])")
_GERMAN = re.compile(rf"(?<![\w.,:/-])(\d{{1,3}}|{_ROMAN})\.(?=,?[^\S\n]+[^\W_])")
_DATE = re.compile(r"\d{1,2}\. ([^\W\d_]+)")
# "Saal 2. Stock 3 ist zu."
_NUMBERED_NOUN = re.compile(r"\s+[^\W\d_]+ (?:\d|[IVX]{2,}\b)")
_SERIES = re.compile(r"(?:\d{1,3}\.?,? (?:(?:und|oder|bis)(?: zum| zur)? )?)+$")
_JOINT = re.compile(r"(?:,|\s+(?:und|oder|bis)(?: zum| zur)?)\s+\d{1,3}\.,?\s")
# "1.–5. Mai" and "1./2. Mai".
_SPAN = re.compile(r"(?<![\w.])(\d{1,2}\.)\s?[-–]\s?(?=\d{1,2}\.\s)")
_PAIR = re.compile(r"(?<![\w.])(\d{1,2}\.)/(?=\d{1,2}\.\s)")
_FRENCH = re.compile(
    r"(?<![\w.,'’-])(?:(\d{1,3}|I)(ers?|res?|[eè]res?)|(2)(nde?s?|de)|(\d{1,3}|(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3}))"
    r"(i?[eè]mes?|es?)|([VX])(e)(?=\s(?:si[eè]cle|République|arrondissement)))\b"
)
_ITALIAN = re.compile(rf"(?<![\w.,-])(?:(\d{{1,2}})\s?°(?=\s[^\W\d_]{{2}})|({_ROMAN})(?= [a-z]))(\s\w+)?")
_MOST_FLOORS = 31


def written_out(text: str, code: str) -> str:
    """The text with ordinals and Roman numbers as words, or as numbers that espeak-ng reads so."""
    if (spoken := language(code)) is None:
        return text
    if code == "de":
        text = _PAIR.sub(r"\1 und ", _SPAN.sub(r"\1 bis ", text))
        text = _GERMAN.sub(lambda match: _german(match, spoken), text)
    if code == "fr":
        text = _FRENCH.sub(_french, text)
    text = _NUMBERED.sub(lambda match: _numbered(match, code, spoken), text)
    return _ITALIAN.sub(lambda match: _italian(match, spoken), text) if code == "it" else text


def begins_with_date(line: str, code: str) -> bool:
    """Whether a line begins with a German date such as 3. Mai, which is no number of a list."""
    spoken = language(code)
    date = _DATE.match(line) if spoken and code == "de" else None
    return date is not None and spoken is not None and date[1] in spoken.tables["dates"]["months"].split()


def _value(number: str) -> int:
    """The value of a number in digits or Roman letters."""
    if number.isdigit():
        return int(number)
    values = [_VALUES[letter] for letter in number]
    return sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))


def _numbered(match: re.Match[str], code: str, spoken: Language) -> str:
    """The number of a king, a chapter or a war."""
    word, roman = match.groups()
    lower = word.lower()
    is_king, is_part = (lower in spoken.words("roman", names) for names in ("kings", "parts"))
    following = first_word(match.string[match.end() : match.end() + NEAR]).lower()
    is_named = word[0].isupper() and (not following or following in spoken.words("roman", "behind_kings"))
    if code == "en" and roman == "I" and not is_named:
        # It may be the pronoun.
        return match[0]
    if len(roman) == 1 and code == "it" and not (is_king or is_part):
        return match[0]
    if is_king:
        words = [*last_words(match.string[max(0, match.start() - NEAR) : match.start()]), word]
        return f"{word} {_of_king(_value(roman), words, code, spoken)}"
    is_name = len(roman) > 1 and word[0].isupper() and code == "en" and bool(last_words(match.string[: match.start()]))
    if is_name or is_part:
        return f"{word} {_italian_ordinal(_value(roman), word) if code == 'it' else _value(roman)}"
    return match[0]


def _of_king(number: int, words: list[str], code: str, spoken: Language) -> str:
    match code:
        case "en":
            return f"the {number}{english_ending(number)}"
        case "de":
            return _german_king(number, words, spoken)
        case "it":
            return _italian_ordinal(number, words[-1])
        case _:
            return str(number)


def english_ending(number: int) -> str:
    """What follows a number in digits, as in 22nd."""
    return "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _italian_ordinal(number: int, word: str) -> str:
    word = word.lower().strip()
    is_feminine = (
        word.endswith(("a", "ione")) and not word.endswith("lla") or word in ("classe", "parte", "fase", "serie")
    )
    return f"{number}{'ª' if is_feminine else 'º'}"


def _italian(match: re.Match[str], spoken: Language) -> str:
    """An ordinal, unless it is an angle, a temperature or a letter: 180° per 20 minuti, raggi X sono."""
    digits, roman, word = match.groups()
    following = (word or "").strip()
    before = last_words(match.string[max(0, match.start() - NEAR) : match.start()])[-1:]
    if digits:
        is_angle = following in spoken.words("behind", "degrees") or before and before[0] in ("a", "di", "da")
        if int(digits) > _MOST_FLOORS or is_angle:
            return match[0]
    elif len(roman) == 1 and following not in spoken.words("roman", "parts"):
        return match[0]
    return _italian_ordinal(_value(digits or roman), following) + (word or "")


def _french(match: re.Match[str]) -> str:
    number, ending = (each for each in match.groups() if each)
    if match[3]:
        return "seconde" if "e" in ending else "second"
    if not match[1]:
        return f"{_value(number)}ème"
    if _value(number) != 1:
        return match[0]
    return ("premier" if ending in ("er", "ers") else "première") + "s" * ending.endswith("s")


def _german(match: re.Match[str], spoken: Language) -> str:
    """A number with a dot as a word, if the dot does not end a sentence."""
    number, behind = match[1], match.string[match.end() : match.end() + NEAR]
    before = _SERIES.sub("", match.string[max(0, match.start() - NEAR) : match.start()])
    words, noun = last_words(before), first_word(behind)
    last = words[-1] if words else ""
    if number.isalpha() and last.lower() in spoken.words("roman", "kings"):
        # With a dot, because the sentence may end here.
        ends = "." if spoken.opens(behind) else ""
        return f"{_german_king(_value(number), words, spoken)}{ends}"
    if not words and noun in spoken.tables["dates"]["months"].split():
        return f"{_german_ordinal(_value(number), spoken)}r"
    if not words or not _is_ordinal(last.lower(), noun, behind, spoken):
        return match[0]
    return _inflected(_german_ordinal(_value(number), spoken), [word.lower() for word in words], noun.lower(), spoken)


def _german_king(number: int, words: list[str], spoken: Language) -> str:
    """The number behind a name, the last of ``words``: der Vierzehnte, and dem Vierzehnten behind "unter"."""
    ordinal, is_woman = _german_ordinal(number, spoken), words[-1].lower() in spoken.words("roman", "women")
    if len(words) > 1 and words[-2].lower() in spoken.words("roman", "dative"):
        return f"{'der' if is_woman else 'dem'} {ordinal}n"
    return f"{'die' if is_woman else 'der'} {ordinal}"


def _is_ordinal(previous: str, noun: str, behind: str, spoken: Language) -> bool:
    words = spoken.words
    if previous in words("ordinals", "no_ordinals"):
        return False
    if _JOINT.match(behind):
        return True
    is_numbered = _NUMBERED_NOUN.match(behind) is not None and noun not in spoken.tables["dates"]["months"].split()
    if spoken.opens(behind) or is_numbered:
        return False
    if noun[:1].islower() and previous in words("ordinals", "dative"):
        return True
    counted = noun[:1].isupper() and noun.lower().endswith(tuple(words("ordinals", "nouns")))
    return counted or previous in words("ordinals", "determiners") and bool(noun)


def _inflected(ordinal: str, words: list[str], noun: str, spoken: Language) -> str:
    # "am Dienstag, 14. Mai"
    words = words[:-1] if words[-1].endswith(("tag", "woch")) and len(words) > 1 else words
    lists, previous = spoken.words, words[-1]
    of_preposition = previous == "der" and len(words) > 1 and words[-2] in lists("ordinals", "prepositions")
    if of_preposition or previous in lists("ordinals", "dative"):
        return f"{ordinal}n"
    if previous in lists("ordinals", "masculine"):
        return f"{ordinal}{'s' if noun.endswith(tuple(lists('ordinals', 'neuter'))) else 'r'}"
    return ordinal


def _german_ordinal(number: int, spoken: Language) -> str:
    tables: dict[str, str] = spoken.tables["ordinals"]
    first, units, tens = (tables[name].split() for name in ("first", "units", "tens"))
    hundreds, rest = divmod(number, 100)
    before = f"{units[hundreds - 1]}hundert" if hundreds else ""
    if hundreds and not rest:
        return f"{before}ste"
    if rest < len(first):
        return before + first[rest]
    ten, unit = divmod(rest, 10)
    return f"{before}{units[unit - 1] + 'und' if unit else ''}{tens[ten - 2]}ste"
