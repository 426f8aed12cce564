"""The table of faults: where each is inserted, and the tests to run."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


class CannotInsertError(ValueError):
    """The code differs from the table."""


@dataclass(frozen=True)
class Fault:
    """Replaces ``find``, which occurs once in ``file``, by ``put``. ``tests`` are pytest's arguments."""

    file: str
    find: str
    put: str
    tests: tuple[str, ...]

    def in_text(self, text: str) -> str:
        """A file's text with the fault; ``CannotInsertError`` unless ``find`` occurs once."""
        if text.count(self.find) != 1:
            raise CannotInsertError(f"{self.file}: {self.find!r} occurs {text.count(self.find)} times, not once")
        return text.replace(self.find, self.put)


def load() -> list[Fault]:
    """All faults, in order. A fault without ``tests`` gets the tests of the longest listed prefix of its file."""
    table = tomllib.loads((_HERE / "faults.toml").read_text(encoding="utf-8"))
    rooms: dict[str, list[str]] = table["rooms"]

    def tests_of(file: str) -> list[str]:
        return rooms[max((room for room in rooms if file.startswith(room)), key=len)]

    return [
        Fault(entry["file"], entry["find"], entry["put"], tuple(entry.get("tests") or tests_of(entry["file"])))
        for entry in table["faults"]
    ]
