"""Reads texts from a file: its lines, or the ``text`` of each object of a ``.jsonl`` file."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np


class TextsError(Exception):
    """A file has no texts. The message is one sentence."""


def read(path: Path) -> list[str]:
    """The distinct texts of a UTF-8 file, in order, without empty lines."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise TextsError(f"{path} is not UTF-8") from None
    except OSError as error:
        raise TextsError(f"{path} cannot be read: {error.strerror}") from None
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    texts = _fields(path, filled) if path.suffix == ".jsonl" else (line for _, line in filled)
    return list(dict.fromkeys(text.strip() for text in texts))


def _fields(path: Path, lines: list[tuple[int, str]]) -> Iterator[str]:
    for number, line in lines:
        try:
            text = json.loads(line)["text"]
        except (ValueError, TypeError, KeyError):
            text = None
        if not isinstance(text, str):
            raise TextsError(f"{path}: line {number} is no object with a text")
        yield text


def spread(texts: list[str], most: int) -> list[str]:
    """At most ``most`` of the texts, at even distances from the first to the last."""
    if len(texts) <= most:
        return texts
    return [texts[at] for at in np.linspace(0, len(texts) - 1, most).round().astype(int)]
