"""Detect an open file that was deleted or replaced: writes to it would be lost without an error."""

import os
from pathlib import Path


class SameFile:
    """The file that ``path`` names at this moment."""

    def __init__(self, path: Path) -> None:
        self._path, self._identity = path, _identity(path)

    def check(self) -> None:
        """Raise ``OSError`` if the path now names another file, or none."""
        if _identity(self._path) != self._identity:
            raise OSError(f"{self._path} is another file than the one that was opened")


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino
