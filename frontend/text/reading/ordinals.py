"""Writes out ordinals and Roman numbers, which espeak-ng reads as plain numbers or as letters."""

import re

from frontend.text.reading.languages import NEAR, Language, first_word, language, last_words

_ROMAN = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"
_VALUES = {"I": 1, "V": 5, "X": 10}
# A number behind a name or a word such as chapter.
_NUMBERED = re.compile(rf"(?<![\w'])([^\W\d_]+) ({_ROMAN})(?![\w'’]|\.\w)")
_GERMAN = re.compile(rf"(?<![\w.,:/-])(\d{{1,3}}|{_ROMAN})\.(?=[^\S\n]+[^\W_])")
_DATE = re.compile(r"\d{1,2}\. ([^\W\d_]+)")
_SERIES = re.compile(r"(?:\d{1,3}\.?,? (?:und|oder|bis)(?: zum| zur)? )+$")
_JOINT = re.compile(r"\s+(?:und|oder|bis)(?: zum| zur)?\s+\d{1,3}\.\s")
_FRENCH = re.compile(rf"(?<![\w.,])(\d{{1,3}}|{_ROMAN})(ers?|res?|ères?|nde?s?|i?[eè]mes?|es?)\b")
_ITALIAN = re.compile(rf"(?<![\w.,])(?:(\d{{1,3}})\s?°(?=\s[^\W\d_]{{2}})|({_ROMAN})(?= [a-z]))(\s\w+)?")


def written_out(text: str, code: str) -> str:
    """The text with ordinals and Roman numbers as words, or as numbers that espeak-ng reads so."""
    if (spoken := language(code)) is None:
        return text
    if code == "de":
        text = _GERMAN.sub(lambda match: _german(match, spoken), text)
    if code == "fr":
        text = _FRENCH.sub(_french, text)
    text = _NUMBERED.sub(lambda match: _numbered(match, code, spoken), text)
    return _ITALIAN.sub(_italian, text) if code == "it" else text


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
    if lower in spoken.words("roman", "kings"):
        following = first_word(match.string[match.end() :]).lower()
        # "I" may be the pronoun.
        if code == "en" and roman == "I" and following and following not in spoken.words("roman", "behind_kings"):
            return match[0]
        words = [*last_words(match.string[max(0, match.start() - NEAR) : match.start()]), word]
        return f"{word} {_of_king(_value(roman), words, code, spoken)}"
    is_name = len(roman) > 1 and word[0].isupper() and code != "it"
    if is_name or lower in spoken.words("roman", "parts"):
        return f"{word} {_italian_ordinal(_value(roman), word) if code == 'it' else _value(roman)}"
    return match[0]


def _of_king(number: int, words: list[str], code: str, spoken: Language) -> str:
    match code:
        case "en":
            return f"the {number}{_english_ending(number)}"
        case "de":
            return _german_king(number, words, spoken)
        case "it":
            return _italian_ordinal(number, words[-1])
        case _:
            return str(number)


def _english_ending(number: int) -> str:
    return "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _italian_ordinal(number: int, word: str) -> str:
    return f"{number}{'ª' if word.lower().endswith('a') and not word.lower().endswith('lla') else 'º'}"


def _italian(match: re.Match[str]) -> str:
    digits, roman, word = match.groups()
    if roman == "I":
        # The article.
        return match[0]
    following = word or first_word(match.string[match.end() :][:NEAR])
    return _italian_ordinal(_value(digits or roman), following) + (word or "")


def _french(match: re.Match[str]) -> str:
    number, ending = match.groups()
    if ending.startswith("nd"):
        return "seconde" if "e" in ending else "second"
    if _value(number) == 1 and ending[0] in "reè":
        plural = "s" if ending.endswith("s") else ""
        return (
            ("premier" if ending.startswith("er") else "première") + plural if ending not in ("e", "es") else match[0]
        )
    return f"{_value(number)}ème" if ending.startswith(("e", "è", "i")) and not ending.startswith("er") else match[0]


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
    ordinal, is_woman = _german_ordinal(number, spoken), words[-1].endswith("a")
    if len(words) > 1 and words[-2].lower() in spoken.words("roman", "dative"):
        return f"{'der' if is_woman else 'dem'} {ordinal}n"
    return f"{'die' if is_woman else 'der'} {ordinal}"


def _is_ordinal(previous: str, noun: str, behind: str, spoken: Language) -> bool:
    words = spoken.words
    if _JOINT.match(behind):
        return True
    if spoken.opens(behind):
        return False
    counted = noun[:1].isupper() and any(noun.lower().endswith(each) for each in _counted(spoken))
    return counted or previous in words("ordinals", "determiners") and bool(noun)


def _counted(spoken: Language) -> tuple[str, ...]:
    return tuple(spoken.words("ordinals", "nouns"))


def _inflected(ordinal: str, words: list[str], noun: str, spoken: Language) -> str:
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
