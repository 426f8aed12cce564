"""Bring a text to the characters that espeak-ng knows how to read aloud."""

import re
import unicodedata

# What Unicode calls compatible with other characters, and means something of its own: fractions, powers, indices.
_MEANINGFUL = ("<fraction>", "<super>", "<sub>")
_KEPT = "…！？"
# Some ligatures of Arabic stand for a whole sentence: a text may not grow by much.
_LONGEST_LIGATURE = 4
_ALIKE = str.maketrans({**dict.fromkeys("`´‘’ʼ", "'"), "\N{HYPHEN}": "-", "\0": " "})
_THOUSANDS = re.compile(r"(?<![\d'])\d{1,3}(?:'\d{3})+(?![\d'])")
_MARKS = re.compile(r"[!?]{2,}")


def readable(text: str) -> str:
    """The text with letters in their plain, composed form, one apostrophe, and one mark where there were several.

    Thousands may be parted by apostrophes, as in Switzerland.
    """
    composed = unicodedata.normalize("NFC", "".join(map(_plain, text))).translate(_ALIKE)
    return _MARKS.sub(_mark, _THOUSANDS.sub(lambda number: number[0].replace("'", ""), composed))


def _plain(character: str) -> str:
    if character.isascii() or character in _KEPT:
        return character
    # Soft hyphens, joiners and marks of direction are not seen, and would break words apart.
    if unicodedata.category(character) == "Cf":
        return ""
    kind = unicodedata.decomposition(character).split(" ", 1)[0]
    if not kind.startswith("<") or kind in _MEANINGFUL:
        return character
    plain = unicodedata.normalize("NFKC", character)
    is_accent = plain.startswith(" ") and len(plain) > 1
    return character if is_accent or len(plain) > _LONGEST_LIGATURE else plain


def _mark(marks: re.Match[str]) -> str:
    return "?" if "?" in marks[0] else "!"
