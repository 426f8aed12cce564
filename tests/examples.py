"""A document's examples for curl, with the beginning of what each is said to print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# More would be numbers, which differ from one processor to another.
_COMPARED = 30
_EXAMPLE = re.compile(r"^    (curl -s \$QUARTET_URL.*(?:\n     .*)*)\n\n(?:```\w*\n(.*)\n)?", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A command for a shell, and what its output begins with; nothing where it writes a file."""

    command: str
    begins: str


def examples(document: Path) -> Iterator[Example]:
    """In their order: what one writes the next one may read."""
    for command, answer in _EXAMPLE.findall(document.read_text(encoding="utf-8")):
        yield Example(command, answer[:_COMPARED])
