"""A cache of compiled graphs next to the graph."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The largest graph compiles in a few seconds. A process that takes longer may be frozen.
_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.05


@contextmanager
def kept(folder: Path) -> Iterator[dict[str, str]]:
    """OpenVINO's settings for a cache in ``folder``, keyed by the content of the graph and its weights.

    One process compiles at a time, because OpenVINO overwrites files that another may read. A new file replaces the old
    ones. Raises OSError if the folder cannot be made or read, and TimeoutError, which is one, if another process does
    not finish.
    """
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        _lock(lock)
        before = _files(folder)
        yield {"CACHE_DIR": str(folder)}
        _tidy(before, _files(folder))
    finally:
        os.close(lock)


def _lock(lock: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("another process compiles") from None
            time.sleep(_POLL_SECONDS)


def _files(folder: Path) -> dict[Path, int]:
    """The files with the time of their last change."""
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def _tidy(before: dict[Path, int], now: dict[Path, int]) -> None:
    new = [path for path, changed in now.items() if before.get(path) != changed]
    for path in new:
        # OpenVINO makes it private, but Triton may run as another user than the export.
        path.chmod(0o644)
    for path in now.keys() - new if new else ():
        path.unlink()
