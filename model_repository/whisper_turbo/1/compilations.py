"""What OpenVINO compiles of a graph, kept beside it for the next start."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The largest graph compiles and is written in a few seconds: who takes longer may be frozen.
_WAIT_SECONDS = 30.0
_LOOK_SECONDS = 0.05


@contextmanager
def kept(folder: Path) -> Iterator[dict[str, str]]:
    """Settings by which OpenVINO takes from ``folder`` what it compiled before, or keeps there what it compiles.

    It finds it by the content of the graph and its weights. One process compiles at a time, since OpenVINO writes over
    what another may read; what is new replaces what was there. Raises OSError where the folder can be neither made nor
    read, and TimeoutError, which is one, where another process does not come to an end.
    """
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        _take(lock)
        before = _files(folder)
        yield {"CACHE_DIR": str(folder)}
        _tidy(before, _files(folder))
    finally:
        os.close(lock)


def _take(lock: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("another process compiles") from None
            time.sleep(_LOOK_SECONDS)


def _files(folder: Path) -> dict[Path, int]:
    """Each with the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def _tidy(before: dict[Path, int], now: dict[Path, int]) -> None:
    new = [path for path, changed in now.items() if before.get(path) != changed]
    for path in new:
        # OpenVINO lets no other user read it, and Triton may run as another one than the export.
        path.chmod(0o644)
    for path in now.keys() - new if new else ():
        path.unlink()
