"""Whether an open file is still the one that its path names: one that was deleted takes writes without a word."""

import os
from pathlib import Path


class SameFile:
    """The file that ``path`` names when this is made."""

    def __init__(self, path: Path) -> None:
        self._path, self._identity = path, _identity(path)

    def check(self) -> None:
        """``OSError`` where the path names another file by now, or none."""
        if _identity(self._path) != self._identity:
            raise OSError(f"{self._path} is another file than the one that was opened")


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
