"""Everyday sentences in four languages, as many as are wanted; the grammars lie beside this file, one a language."""

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_SLOT = re.compile(r"\{(\w+)\}")


def sentences(language: str, seed: int, count: int) -> Iterator[str]:
    """``count`` sentences in ``en``, ``de``, ``fr`` or ``it``, the same for the same seed."""
    path = Path(__file__).parent / "grammar" / f"{language}.toml"
    grammar = tomllib.loads(path.read_text(encoding="utf-8"))
    rng = random.Random(f"{language}:{seed}")
    for _ in range(count):
        text = _filled(rng.choice(grammar["templates"]), grammar["slots"], rng)
        yield text[0].upper() + text[1:]


def _filled(template: str, slots: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """A template with a phrase in each of its ``{slots}``; two slots of a kind get different ones."""
    used: set[str] = set()

    def fill(match: re.Match[str]) -> str:
        phrases = slots[match[1]]
        fresh = [phrase for phrase in phrases if phrase not in used]
        choice = rng.choice(fresh if match[1] != "digit" else phrases)
        used.add(choice)
        return choice

    return _SLOT.sub(fill, template)
