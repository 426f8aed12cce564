"""Maps a text to characters that espeak-ng can read."""

import re
import unicodedata

# Unicode compatibility forms with a meaning of their own: fractions, powers and indices.
_MEANINGFUL = ("<fraction>", "<super>", "<sub>")
# Signs that are read by the tables of a language, among others.
_KEPT = "…！？№µ"
# Longest replacement of a ligature, in characters. Some Arabic ligatures mean a whole sentence.
_LONGEST_LIGATURE = 4
_ALIKE = str.maketrans({**dict.fromkeys("`´‘’ʼ", "'"), "\N{HYPHEN}": "-", "\0": " "})
_THOUSANDS = re.compile(r"(?<![\d'])\d{1,3}(?:'\d{3})+(?![\d'])")
_MARKS = re.compile(r"[!?]{2,}")


def readable(text: str) -> str:
    """The text with plain, composed letters, one kind of apostrophe, and single question and exclamation marks.

    Apostrophes between thousands, as in Switzerland, are removed.
    """
    composed = unicodedata.normalize("NFC", "".join(map(_plain, text))).translate(_ALIKE)
    return _MARKS.sub(_mark, _THOUSANDS.sub(lambda number: number[0].replace("'", ""), composed))


def _plain(character: str) -> str:
    if character.isascii() or character in _KEPT:
        return character
    # Soft hyphens, joiners and direction marks are invisible and would split words.
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
