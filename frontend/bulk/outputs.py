"""Where outcomes go: a JSONL file with a line for each item, or a folder with an audio file for each.

Whenever the process is killed, what lies there is whole, but for a last line, which the next run takes away.
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import quote

import orjson

from frontend.bulk.failures import BulkError, as_sentence
from frontend.bulk.sources import Item

_NUMBER = re.compile(rb'\{"item":(\d+)[,}]')
_LONGEST_NAME = 200
_PARTIAL = ".partial"


class Output(Protocol):
    """Takes what comes of each item, once."""

    def has(self, item: Item) -> bool:
        """Whether something has come of it already."""

    def write(self, item: Item, values: dict[str, Any]) -> None:
        """What came of it."""

    def fail(self, item: Item, message: str) -> None:
        """Why nothing did."""

    def failed(self) -> int:
        """How many have failed, in earlier runs too."""

    def close(self) -> None: ...


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is at ``path`` when the block has ended well, and not before."""
    partial = path.with_name(f".{secrets.token_hex(4)}{_PARTIAL}")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def sweep(output: Path) -> None:
    """Take away what killed runs have left of files that never became whole."""
    if output.is_dir():
        for partial in output.rglob(f".*{_PARTIAL}"):
            partial.unlink()


class Numbers:
    """Which items there are, by number: a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.count = 0

    def add(self, number: int) -> None:
        place, bit = divmod(number, 8)
        if place >= len(self._bits):
            self._bits.extend(bytes(max(place + 1, 2 * len(self._bits)) - len(self._bits)))
        self.count += number not in self
        self._bits[place] |= 1 << bit

    def __contains__(self, number: int) -> bool:
        place, bit = divmod(number, 8)
        return place < len(self._bits) and bool(self._bits[place] >> bit & 1)


class LineFile:
    """A file of lines that begin with an item's number, to which lines are added and each item's once."""

    def __init__(self, path: Path) -> None:
        self._path, self.numbers, self._length = path, Numbers(), 0
        with as_sentence(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        try:
            with as_sentence(path):
                self._read()
        except BulkError:
            self._file.close()
            raise

    def _read(self) -> None:
        with self._path.open("rb") as file:
            for place, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                if (found := _NUMBER.match(line)) is None:
                    raise BulkError(f"{self._path}: line {place} was not written by such a run: name another output")
                self.numbers.add(int(found[1]))
                self._length += len(line)
        self._file.truncate(self._length)

    def add(self, item: Item, values: dict[str, Any]) -> None:
        """One line; where the disk is full, what is there stays whole."""
        record = {"item": item.number, "id": item.id, **values}
        line = orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n"
        with as_sentence(self._path):
            try:
                written = self._file.write(line)
                if written != len(line):
                    self._file.write(line[written:])
            except OSError:
                self._file.truncate(self._length)
                raise
        self._length += len(line)
        self.numbers.add(item.number)

    def close(self) -> None:
        """A file without a line is none."""
        with as_sentence(self._path):
            os.fsync(self._file.fileno())
            self._file.close()
            if not self._length:
                self._path.unlink()


class Gathered:
    """Failures that another process writes down; those in ``numbers`` have been."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = Numbers()
        self.items: list[tuple[Item, dict[str, Any]]] = []
        for number in numbers:
            self.numbers.add(number)

    def add(self, item: Item, values: dict[str, Any]) -> None:
        """One more."""
        self.items.append((item, values))

    def close(self) -> None:
        """There is nothing to close."""


class JsonLines:
    """Outcomes as lines of one file, failures as lines of another."""

    def __init__(self, path: Path, failures: LineFile) -> None:
        self._done, self._failures = LineFile(path), failures

    def has(self, item: Item) -> bool:
        """See ``Output``."""
        return item.number in self._done.numbers or item.number in self._failures.numbers

    def write(self, item: Item, values: dict[str, Any]) -> None:
        """See ``Output``."""
        self._done.add(item, values)

    def fail(self, item: Item, message: str) -> None:
        """See ``Output``."""
        self._failures.add(item, {"error": message})

    def failed(self) -> int:
        """See ``Output``."""
        return self._failures.numbers.count

    def close(self) -> None:
        """See ``Output``."""
        self._done.close()
        self._failures.close()


def failures_in(path: Path, again: bool) -> LineFile:
    """The failures of earlier runs; none where their items are to be done again."""
    if again:
        with as_sentence(path):
            path.unlink(missing_ok=True)
    return LineFile(path)


class AudioFiles:
    """A folder with a file for each item. One that came from a file is called like that, others by number and id."""

    def __init__(self, path: Path, failures: "LineFile | Gathered", suffix: str) -> None:
        self._path, self.failures, self._suffix = path, failures, suffix
        with as_sentence(path):
            path.mkdir(parents=True, exist_ok=True)

    def path_of(self, item: Item) -> Path:
        """Where an item's audio is; no two have the same place."""
        if item.path is not None:
            return (self._path / item.id).with_suffix(f".{self._suffix}")
        number = f"{item.number:08d}"
        name = quote(item.id, safe=" ")[:_LONGEST_NAME] if item.id != str(item.number) else ""
        return self._path / f"{number}{'-' * bool(name)}{name}.{self._suffix}"

    def has(self, item: Item) -> bool:
        """See ``Output``."""
        return self.path_of(item).exists() or item.number in self.failures.numbers

    def write(self, item: Item, values: dict[str, Any]) -> None:
        """See ``Output``."""
        path = self.path_of(item)
        with as_sentence(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(values["audio"])

    def fail(self, item: Item, message: str) -> None:
        """See ``Output``."""
        self.failures.add(item, {"error": message})

    def failed(self) -> int:
        """See ``Output``."""
        return self.failures.numbers.count

    def close(self) -> None:
        """See ``Output``."""
        self.failures.close()
