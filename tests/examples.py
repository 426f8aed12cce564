"""The samples of the pages: each fenced block, with the beginning of the output that the page shows for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# What somebody runs. Other blocks are outputs, settings and files.
LANGUAGES = ("bash", "python", "js", "kotlin", "swift")
# Why a sample is not run by a test: the title of its block, which the manual shows.
REASONS = (
    "needs Docker",
    "needs Kubernetes",
    "needs a GPU",
    "needs root",
    "needs Kotlin",
    "needs Swift",
    "needs a microphone",
    "needs a Ray cluster",
    "needs aiperf",
    "needs perf_analyzer",
    "needs Prometheus",
    "needs the hub's models",
    "takes minutes",
)
# Characters. Longer outputs have numbers, which differ between processors.
_COMPARED = 30
_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```\n', re.MULTILINE | re.DOTALL)
_RANDOM = re.compile(r"[0-9a-f]{32}")
# Of what is no program, these may be what the command before them prints.
_OUTPUTS = ("json", "text", "")


@dataclass(frozen=True)
class Sample:
    """A program, and the beginning of its output; empty if the page does not show it. ``why`` it is not run, if so."""

    page: Path
    line: int
    language: str
    why: str
    text: str
    begins: str


def samples(page: Path) -> Iterator[Sample]:
    """The samples of a page in order, because one may read a file that an earlier one wrote."""
    text = page.read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    for index, block in enumerate(blocks):
        language, why, program = block.groups("")
        if language in LANGUAGES:
            line = text.count("\n", 0, block.start()) + 1
            output = _output(text, blocks[index:]).rstrip() if language == "bash" else ""
            yield Sample(page, line, language, why, program.rstrip(), comparable(output)[:_COMPARED])


def comparable(output: str) -> str:
    """An output without its random ids."""
    return _RANDOM.sub("", output)


def _output(text: str, blocks: list[re.Match[str]]) -> str:
    """What follows a command and the same in other languages, with nothing between them."""
    for block, following in pairwise(blocks):
        if text[block.end() : following.start()] != "\n":
            return ""
        if following[1] in _OUTPUTS:
            return following[3]
    return ""
