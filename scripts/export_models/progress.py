"""How an export tells how far it is, and on how many threads it works."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


class Progress:
    """Hears of the steps of a model's export; this one keeps them to itself."""

    def step(self, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` parts of the step ``name`` are done."""

    def note(self, line: str) -> None:
        """Something that a person should know."""

    def over(self, items: Sequence[Item], name: str) -> Iterator[Item]:
        """The items in turn, each a part of the step ``name``."""
        for done, item in enumerate(items):
            self.step(name, done, len(items))
            yield item
        self.step(name, len(items), len(items))


SILENT = Progress()


@dataclass(frozen=True)
class Conditions:
    """Threads to compute on, and who hears of the progress."""

    threads: int = 1
    progress: Progress = SILENT


ALONE = Conditions()
