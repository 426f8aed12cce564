"""Outputs: a JSONL file with a line per item, or a folder with an audio file per item.

After a kill, all outcomes are complete except a last line, which the next run removes.
"""

import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import quote

import orjson

from client.api import CommandError
from client.bulk.inputs import Item

_NUMBER = re.compile(rb'\{"item":(\d+)[,}]')
_LONGEST_NAME = 200  # characters
_PARTIAL = ".partial"


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears at ``path`` only if the block succeeds."""
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


def remove_partials(output: Path) -> None:
    """Delete the partial files of killed runs."""
    if output.is_dir():
        for partial in output.rglob(f".*{_PARTIAL}"):
            partial.unlink()


class Output(ABC):
    """Receives the outcome of each item, once."""

    @abstractmethod
    def has(self, item: Item) -> bool:
        """Whether the item has an outcome."""

    @abstractmethod
    def write(self, item: Item, values: dict[str, Any]) -> None:
        """Write the item's outcome."""

    @abstractmethod
    def fail(self, item: Item, message: str) -> None:
        """Write why the item failed."""

    @abstractmethod
    def failed(self) -> int:
        """How many items have failed, earlier runs included."""

    @abstractmethod
    def close(self) -> None:
        """Finish writing."""


class Failures(Protocol):
    """The reasons of failed items, one per item."""

    def has(self, number: int) -> bool: ...

    def add(self, item: Item, values: dict[str, Any]) -> None: ...

    def count(self) -> int: ...

    def close(self) -> None: ...


class LineFile:
    """A file with lines of some of ``total`` items. A line begins with the item's number. Lines are only added."""

    def __init__(self, path: Path, total: int) -> None:
        # One byte per item: whether it has a line.
        self._path, self._has, self._length = path, bytearray(total), 0
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read()
        self._file = path.open("ab", buffering=0)
        self._file.truncate(self._length)

    def _read(self) -> None:
        with self._path.open("rb") as file:
            for place, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                number = _NUMBER.match(line)
                if number is None or int(number[1]) >= len(self._has):
                    raise CommandError(f"{self._path}: line {place} was not written by such a run: name another output")
                self._has[int(number[1])] = True
                self._length += len(line)

    def has(self, number: int) -> bool:
        return bool(self._has[number])

    def count(self) -> int:
        return self._has.count(True)

    def add(self, item: Item, values: dict[str, Any]) -> None:
        """Add a line. A full disk leaves the earlier lines complete."""
        record = {"item": item.number, "id": item.id, **values}
        line = orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n"
        try:
            written = self._file.write(line)
            if written != len(line):
                self._file.write(line[written:])
        except OSError:
            self._file.truncate(self._length)
            raise
        self._length += len(line)
        self._has[item.number] = True

    def close(self) -> None:
        """Close the file; delete it if it is empty."""
        os.fsync(self._file.fileno())
        self._file.close()
        if not self._length:
            self._path.unlink()


class _SeparateFailures(Output):
    """An output that writes failures to a separate file."""

    def __init__(self, failures: Failures) -> None:
        self.failures = failures

    def has(self, item: Item) -> bool:
        return self.failures.has(item.number)

    def fail(self, item: Item, message: str) -> None:
        self.failures.add(item, {"error": message})

    def failed(self) -> int:
        return self.failures.count()

    def close(self) -> None:
        self.failures.close()


class JsonLines(_SeparateFailures):
    """Outcomes as lines of one file, failures as lines of another."""

    def __init__(self, path: Path, total: int, failures: Failures) -> None:
        super().__init__(failures)
        self._done = LineFile(path, total)

    def has(self, item: Item) -> bool:
        return self._done.has(item.number) or super().has(item)

    def write(self, item: Item, values: dict[str, Any]) -> None:
        self._done.add(item, values)

    def close(self) -> None:
        self._done.close()
        super().close()


class AudioFiles(_SeparateFailures):
    """A folder with a file per item, named like the item's file, or by its number and id."""

    def __init__(self, path: Path, suffix: str, failures: Failures) -> None:
        super().__init__(failures)
        self._path, self._suffix = path, suffix
        path.mkdir(parents=True, exist_ok=True)

    def path_of(self, item: Item) -> Path:
        """The path of an item's audio; it is unique."""
        if item.path is not None:
            return (self._path / item.id).with_suffix(f".{self._suffix}")
        name = quote(item.id, safe=" ")[:_LONGEST_NAME] if item.id != str(item.number) else ""
        return self._path / f"{item.number:08d}{'-' * bool(name)}{name}.{self._suffix}"

    def has(self, item: Item) -> bool:
        return self.path_of(item).exists() or super().has(item)

    def write(self, item: Item, values: dict[str, Any]) -> None:
        path = self.path_of(item)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(values["audio"])
