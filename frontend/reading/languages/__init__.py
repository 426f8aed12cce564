"""What is known of each language: a file of tables for each."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# Most characters of a text that are looked at on each side of a place, so that no text takes long.
NEAR = 40

_FOLDER = Path(__file__).parent
_FIRST_WORD = re.compile(r"[\s\"'«»“”„(\[]*([^\W\d_]+(?:['’][^\W\d_]+)?)")
_LAST_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Language:
    """A language's tables, and the words with which its sentences often begin, in small letters."""

    tables: dict[str, Any]
    openers: frozenset[str]

    def words(self, table: str, name: str) -> frozenset[str]:
        """A list of words in a table; empty if there is none."""
        return _split(self.tables.get(table, {}).get(name, ""))

    def opens(self, following: str) -> bool:
        """Whether a text begins with a capital, in a word with which sentences often begin."""
        word = first_word(following)
        return word[:1].isupper() and not self.openers.isdisjoint({word.lower(), word.lower().split("'")[0]})


@cache
def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def language(code: str) -> Language | None:
    """The language of an ISO 639-1 code, if it has tables."""
    file = _FOLDER / f"{code}.toml"
    if not file.exists():
        return None
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return Language(tables, frozenset(tables["openers"].split()))


def is_adjective(match: re.Match[str], spoken: Language) -> bool:
    """Whether an English amount stands between an article and a noun, as in a $20 bill."""
    words = last_words(match.string[max(0, match.start() - NEAR) : match.start()])
    noun = first_word(match.string[match.end() : match.end() + NEAR])
    is_noun = noun[:1].islower() and noun not in spoken.openers
    return is_noun and bool(words) and words[-1].lower() in spoken.words("money", "articles")


def first_word(text: str) -> str:
    """The word at the beginning of a text, behind quotes and brackets; empty if it begins with something else."""
    found = _FIRST_WORD.match(text[:NEAR])
    return found[1] if found else ""


def last_words(text: str) -> list[str]:
    """The words and numbers at the end of a text, in its last line."""
    return _LAST_WORDS.findall(text[-NEAR:].rsplit("\n", 1)[-1])
