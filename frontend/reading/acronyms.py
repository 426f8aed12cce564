"""Spells acronyms that espeak-ng reads as words: in lines of capitals, and in languages where it spells none."""

import re

from frontend.reading.languages import Language, language

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,5}(?![^\W_])")
# espeak-ng spells the L of "L'U E".
_ELIDED = re.compile(r"(?<![^\W_])[LDQSNMTJ](?='[^\W\d_]{2,5}(?![^\W_]))")
_LONG = re.compile(r"[^\W\d_]{2,}")
_VOWELS = frozenset("aeiouyäöüàâéèêëîïôùûœ")


def written_out(text: str, code: str) -> str:
    """The text with acronyms letter by letter."""
    if (spoken := language(code)) is None:
        return text
    in_capitals = text.isupper()
    text = _ELIDED.sub(lambda match: match[0].lower(), text)
    text = _WORD.sub(lambda match: _spelled(match[0], in_capitals, spoken), text)
    # espeak-ng spells some words of capitals, such as US.
    return _LONG.sub(lambda match: match[0].lower(), text) if in_capitals and " " in text.strip() else text


def _spelled(word: str, in_capitals: bool, spoken: Language) -> str:
    if not word.isupper():
        return word
    is_known = word.lower() in spoken.words("acronyms", "spelled")
    is_unspeakable = in_capitals and _VOWELS.isdisjoint(word.lower())
    joint: str = spoken.tables["acronyms"]["between_letters"]
    return joint.join(word) if is_known or is_unspeakable else word
