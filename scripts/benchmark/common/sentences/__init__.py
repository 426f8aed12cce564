"""Everyday sentences in ``en``, ``de``, ``fr`` and ``it``: four of each of 15 kinds, such as questions or prices."""

import tomllib
from pathlib import Path

_FOLDER = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def sentences(language: str) -> list[tuple[str, str]]:
    """The kind and the text of each sentence in a language."""
    kinds = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return [(kind, text) for kind, texts in kinds.items() for text in texts]
