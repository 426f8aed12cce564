"""The curl examples of a document, with the beginning of their documented output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Characters. Longer outputs have numbers, which differ between processors.
_COMPARED = 30
_EXAMPLE = re.compile(r"^    (curl -s \$QUARTET_URL.*(?:\n     .*)*)\n\n(?:```\w*\n(.*)\n)?", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A command for a shell, and the beginning of its output; empty if it writes a file."""

    command: str
    begins: str


def examples(document: Path) -> Iterator[Example]:
    """The examples in order, because one may read a file that an earlier one wrote."""
    for command, answer in _EXAMPLE.findall(document.read_text(encoding="utf-8")):
        yield Example(command, answer[:_COMPARED])
