"""The table of faults: the place of each, and the tests to run."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


class CannotPutInError(ValueError):
    """The code differs from the table."""


@dataclass(frozen=True)
class Fault:
    """Replaces ``find``, which occurs once in ``file``, by ``put``. ``tests`` are pytest's arguments."""

    file: str
    find: str
    put: str
    tests: tuple[str, ...]

    def in_text(self, text: str) -> str:
        """A file's text with the fault; ``CannotPutInError`` if its place is not found."""
        if text.count(self.find) != 1:
            raise CannotPutInError(f"{self.file}: {self.find!r} stands there {text.count(self.find)} times, not once")
        return text.replace(self.find, self.put)


def load() -> list[Fault]:
    """Every fault in order. One without ``tests`` has those of the longest listed prefix of its file."""
    table = tomllib.loads((_HERE / "faults.toml").read_text(encoding="utf-8"))
    rooms: dict[str, list[str]] = table["rooms"]

    def tests_of(file: str) -> list[str]:
        return rooms[max((room for room in rooms if file.startswith(room)), key=len)]

    return [
        Fault(entry["file"], entry["find"], entry["put"], tuple(entry.get("tests") or tests_of(entry["file"])))
        for entry in table["faults"]
    ]
