"""Where items come from: a folder of files, or a JSONL file; read in order, however many there are."""

import codecs
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from frontend.bulk.failures import BulkError, ItemError, as_sentence

# An entry of a JSONL file's index stands for so many lines.
INDEXED = 1024
_LONGEST_LINE = 64 * 1024 * 1024
# A field that none of so many lines has is none of the file's.
_LOOKED_AT = 100


@dataclass(frozen=True)
class Item:
    """One piece of input. ``number`` counts from 0; ``id`` is what the input calls it.

    It has a ``text``, a file at ``path``, or the ``data`` of one; ``error`` says why it has nothing.
    """

    number: int
    id: str
    text: str | None = field(default=None, repr=False)
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)
    error: str = ""

    def read_text(self) -> str:
        """The text, of the file where there is one; ``ItemError`` where it cannot be read."""
        if self.path is None:
            return self.text or ""
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ItemError("the file is not UTF-8") from None
        except OSError as error:
            raise ItemError(f"the file cannot be read: {error.strerror}") from None


class Source(Protocol):
    """``count`` items; ``mark`` changes when they do."""

    count: int
    mark: str

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """So many from the first on, or all that follow."""


@dataclass(frozen=True)
class Field:
    """What is taken of each line or row: the ``name`` of its text, or of its file where ``is_file``."""

    name: str
    is_file: bool


def mark_of(path: Path) -> str:
    """Another where the file is another one, or was written to."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


class Folder:
    """Every file below a folder with one of the ``suffixes``, in the order of their paths.

    The names of one folder are held at a time to put them in order, and of each file its id.
    """

    def __init__(self, path: Path, suffixes: frozenset[str]) -> None:
        self._path, self._suffixes = path, suffixes
        self.count, newest, size = 0, 0, 0
        with as_sentence(path):
            for entry in self._walk(path):
                status = entry.stat()
                self.count, size = self.count + 1, size + status.st_size
                newest = max(newest, status.st_mtime_ns)
        self.mark = f"{self.count} {size} {newest}"

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """See ``Source``."""
        end = self.count if count is None else first + count
        for number, entry in enumerate(self._walk(self._path)):
            if number >= end:
                return
            if number >= first:
                yield Item(number, os.path.relpath(entry.path, self._path), path=Path(entry.path))

    def _walk(self, path: Path | str) -> Iterator["os.DirEntry[str]"]:
        with os.scandir(path) as found:
            entries = sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path)
            elif entry.is_file() and Path(entry.name).suffix in self._suffixes:
                yield entry


class Lines:
    """A JSONL file: an object a line, with the field and perhaps an ``id``. Paths are relative to its folder."""

    def __init__(self, path: Path, field: Field) -> None:
        self._path, self._field = path, field
        # Where each line begins whose number is a multiple of INDEXED.
        self._index = array("Q")
        self.count = 0
        with as_sentence(path), path.open("rb") as file:
            self.mark = mark_of(path)
            start = 0
            for line in iter(lambda: file.readline(_LONGEST_LINE), b""):
                if self.count % INDEXED == 0:
                    self._index.append(start)
                if not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
                    raise BulkError(f"{path}: line {self.count + 1} is longer than {_LONGEST_LINE} bytes")
                start += len(line)
                self.count += 1
        if self.count and all(item.error for item in self.items(0, _LOOKED_AT)):
            raise BulkError(
                f"{path}: its first lines have no text in {field.name!r}; choose another field with --column"
            )

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """See ``Source``; a line that is no such object is an item with an error."""
        end = self.count if count is None else min(self.count, first + count)
        if first >= end:
            return
        with as_sentence(self._path), self._path.open("rb") as file:
            file.seek(self._index[first // INDEXED])
            for number in range(first - first % INDEXED, end):
                line = file.readline()
                if number >= first:
                    yield self._item(number, line)

    def _item(self, number: int, line: bytes) -> Item:
        try:
            value = orjson.loads(line if number else line.removeprefix(codecs.BOM_UTF8))
        except orjson.JSONDecodeError:
            return Item(number, str(number), error=f"line {number + 1} is not JSON")
        if not isinstance(value, dict):
            return Item(number, str(number), error=f"line {number + 1} is no object")
        return item_of(number, value.get("id"), value.get(self._field.name), self._field, self._path.parent)


def item_of(number: int, name: Any, value: Any, field: Field, folder: Path) -> Item:
    """An item of a line or row; without an id it is called by its path, or its number."""
    given = str(name) if isinstance(name, str | int) else ""
    if isinstance(value, bytes) and field.is_file:
        return Item(number, given or str(number), data=value)
    if not isinstance(value, str):
        return Item(number, given or str(number), error=f"there is no text in {field.name!r}")
    if field.is_file:
        return Item(number, given or value, path=folder / value)
    return Item(number, given or str(number), text=value)
