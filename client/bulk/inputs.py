"""Input items: a folder of files or a JSONL file, read in order, of any length."""

import codecs
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import orjson

from client.api import CommandError

# Lines per entry of a JSONL file's index.
INDEXED = 1024
# Most bytes of a line, so that a file without line ends is not read into memory.
_LONGEST_LINE = 64 * 1024 * 1024
# Lines that are checked for a field. If none has it, the file has no such field.
_LOOKED_AT = 100


class ItemError(Exception):
    """One item fails; the others continue."""


@dataclass(frozen=True)
class Item:
    """One input. ``number`` counts from 0; ``id`` is its name in the input.

    It has a ``text``, a file at ``path``, or the ``data`` of one; ``error`` says why it has none of them.
    """

    number: int
    id: str
    text: str | None = field(default=None, repr=False)
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)
    error: str = ""

    def read_text(self) -> str:
        """The text, or the text of its file; ``ItemError`` if it cannot be read."""
        if self.path is None:
            return self.text or ""
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ItemError("the file is not UTF-8") from None
        except OSError as error:
            raise ItemError(f"the file cannot be read: {error.strerror}") from None


@dataclass(frozen=True)
class Field:
    """The field of each line or row to use: a text, or with ``is_file`` a path or the bytes of a file."""

    name: str
    is_file: bool

    def item(self, number: int, row: dict[str, Any], folder: Path) -> Item:
        """The item of a line or row. Without an id, its path or number is its id."""
        name, value = row.get("id"), row.get(self.name)
        named = str(name) if isinstance(name, str | int) else ""
        if isinstance(value, bytes) and self.is_file:
            return Item(number, named or str(number), data=value)
        if not isinstance(value, str):
            return Item(number, named or str(number), error=f"there is no text in {self.name!r}")
        if self.is_file:
            return Item(number, named or value, path=folder / value)
        return Item(number, named or str(number), text=value)


class Source(Protocol):
    """``count`` items; ``fingerprint`` changes when they do."""

    count: int
    fingerprint: str

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """Items from ``first`` on: ``count`` of them, or all."""


def fingerprint_of(path: Path) -> str:
    """A value that changes if the file is replaced or written."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


class Folder:
    """Every file below a folder with one of the ``suffixes``, in the order of their paths.

    Memory holds the names of one folder at a time, to sort them.
    """

    def __init__(self, path: Path, suffixes: frozenset[str]) -> None:
        self._path, self._suffixes = path, suffixes
        self.count, newest, size = 0, 0, 0
        for entry in self._walk(path):
            status = entry.stat()
            self.count, size = self.count + 1, size + status.st_size
            newest = max(newest, status.st_mtime_ns)
        self.fingerprint = f"{self.count} {size} {newest}"

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        end = self.count if count is None else first + count
        for number, entry in islice(enumerate(self._walk(self._path)), first, end):
            yield Item(number, os.path.relpath(entry.path, self._path), path=Path(entry.path))

    def _walk(self, path: Path | str) -> Iterator["os.DirEntry[str]"]:
        with os.scandir(path) as names:
            entries = sorted((entry for entry in names if not entry.name.startswith(".")), key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path)
            elif entry.is_file() and Path(entry.name).suffix in self._suffixes:
                yield entry


class Lines:
    """A JSONL file: an object a line, with the field and perhaps an ``id``. Paths are relative to its folder."""

    def __init__(self, path: Path, field: Field) -> None:
        self._path, self._field = path, field
        # Offsets of lines whose number is a multiple of INDEXED.
        self._index = array("Q")
        self.count, self.fingerprint, start = 0, fingerprint_of(path), 0
        with path.open("rb") as file:
            for line in iter(lambda: file.readline(_LONGEST_LINE), b""):
                if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    raise CommandError(f"{path}: line {self.count + 1} is longer than {_LONGEST_LINE} bytes")
                if self.count % INDEXED == 0:
                    self._index.append(start)
                self.count, start = self.count + 1, start + len(line)
        if self.count and all(item.error for item in self.items(0, _LOOKED_AT)):
            raise CommandError(
                f"{path}: its first lines have no text in {field.name!r}; choose another field with --column"
            )

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """See ``Source``. An invalid line is an item with an error."""
        if first >= self.count:
            return
        begin, end = first % INDEXED, first % INDEXED + min(self.count - first, count or self.count)
        with self._path.open("rb") as file:
            file.seek(self._index[first // INDEXED])
            for number, line in enumerate(islice(file, begin, end), first):
                yield self._item(number, line)

    def _item(self, number: int, line: bytes) -> Item:
        try:
            value = orjson.loads(line if number else line.removeprefix(codecs.BOM_UTF8))
        except orjson.JSONDecodeError:
            return Item(number, str(number), error=f"line {number + 1} is not JSON")
        if not isinstance(value, dict):
            return Item(number, str(number), error=f"line {number + 1} is no object")
        return self._field.item(number, value, self._path.parent)
