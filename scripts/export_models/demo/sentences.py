"""Everyday sentences in four languages, from the grammars in the folder ``grammar``."""

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_SLOT = re.compile(r"\{(\w+)\}")


def sentences(language: str, seed: int, count: int) -> Iterator[str]:
    """``count`` sentences in ``en``, ``de``, ``fr`` or ``it``; equal seeds give equal sentences."""
    path = Path(__file__).parent / "grammar" / f"{language}.toml"
    grammar = tomllib.loads(path.read_text(encoding="utf-8"))
    rng = random.Random(f"{language}:{seed}")
    for _ in range(count):
        text = _filled(rng.choice(grammar["templates"]), grammar["slots"], rng)
        yield text[0].upper() + text[1:]


def _filled(template: str, slots: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """A template with a phrase in each of its ``{slots}``; slots of the same name get different phrases."""
    used: set[str] = set()

    def fill(match: re.Match[str]) -> str:
        phrases = slots[match[1]]
        fresh = [phrase for phrase in phrases if phrase not in used]
        choice = rng.choice(fresh if match[1] != "digit" else phrases)
        used.add(choice)
        return choice

    return _SLOT.sub(fill, template)
