"""Check the docs, their links and file names: ``python -m scripts.prose`` prints what to change, and exits with 1."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]
# Where the programs are that the docs name.
_SOURCES = ("frontend", "client", "model_repository", "scripts", "docker", "tests", "lab")
_MOST_WORDS = 30
# So many sentences in a row that have fewer words leave their relation to the reader.
_SHORT_SENTENCES, _SHORT_WORDS = 3, 8
# Hard wordings, and what to write instead.
_AVOIDED = {
    r"\b(is|are|was) told\b": "say who prints, reports or passes it",
    r"\bof which\b": "a new sentence",
    r"\bwhat is to be\b": "name it",
    r"\bwhoever\b": "anyone who, or you",
    r"\bhung up\b|\bhangs up\b|\bhang up\b": "disconnect",
    r"\bis nothing that\b": "say what it is",
    r"\bwhere none\b": "if there is no",
    r"\bin the place of\b": "instead of",
    r"\bthe usual one\b": "the default",
    r"\bheld to\b|\bhold to\b": "checked against",
}


def pages() -> list[Path]:
    return [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and items of lists in one line each, without headings, tables, code and pictures."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(    .*|\||#|!\[)[^\n]*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "x", text))
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text):
        yield " ".join(paragraph.split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and lists, whose parts by colons and semicolons count as sentences."""
    for paragraph in paragraphs(text):
        yield from filter(None, re.split(r"(?<=[.!?:;])\s+", paragraph))


def short_in_a_row(text: str) -> Iterator[str]:
    """Short sentences that follow each other in a paragraph."""
    for paragraph in paragraphs(text):
        row: list[str] = []
        for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
            row = [*row, sentence] if 0 < len(sentence.split()) < _SHORT_WORDS else []
            if len(row) == _SHORT_SENTENCES:
                yield f"say how these belong together: {' '.join(row)}"


def _anchors(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    """Links to files or headings that do not exist."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            yield f"broken link: {link}"


@cache
def _programs() -> list[str]:
    return [f"/{path.relative_to(_ROOT)}" for folder in _SOURCES for path in (_ROOT / folder).rglob("*.*")]


def missing_files(text: str) -> Iterator[str]:
    """Names of programs in backquotes, such as ``http/json.py``, that no file ends in."""
    for name in re.findall(r"`([\w/.-]+\.(?:py|sh|mjs))`", text):
        if not any(path.endswith(f"/{name}") for path in _programs()):
            yield f"there is no {name}"


def missing_tests(text: str) -> Iterator[str]:
    """Tests in backquotes that are not there: ``unit/x/y::z`` is ``test_z`` in ``tests/unit/x/test_y.py``."""
    for place, name in re.findall(r"`([a-z0-9_/]+)::([a-z0-9_]+)`", text):
        folder, _, module = f"tests/{place}".replace("tests/client/", "client/tests/").rpartition("/")
        file = _ROOT / folder / f"test_{module}.py"
        there = file.read_text(encoding="utf-8") if file.is_file() else ""
        if not re.search(rf"^(async )?def test_{name}\(", there, re.MULTILINE):
            yield f"there is no test {place}::{name}"


def problems(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if (words := len(sentence.split())) > _MOST_WORDS:
            yield f"{words} words: {sentence}"
        for wording, better in _AVOIDED.items():
            if re.search(wording, sentence, re.IGNORECASE):
                yield f"write {better!r}: {sentence}"
    yield from short_in_a_row(text)


def main() -> None:
    found = [
        f"{page.relative_to(_ROOT)}: {problem}"
        for page in pages()
        for text in [page.read_text(encoding="utf-8")]
        for problem in (*problems(text), *missing_files(text), *missing_tests(text), *broken_links(page))
    ]
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
