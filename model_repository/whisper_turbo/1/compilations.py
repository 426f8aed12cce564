"""What OpenVINO compiles of a graph, kept beside it for the next start."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def kept(folder: Path) -> Iterator[dict[str, str]]:
    """Settings by which OpenVINO takes from ``folder`` what it compiled before, or keeps there what it compiles.

    It finds it by the content of the graph and its weights. One process compiles at a time, since OpenVINO writes over
    what another may read; what is new replaces what was there. Raises OSError where the folder can be neither made nor
    read.
    """
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _files(folder)
        yield {"CACHE_DIR": str(folder)}
        _tidy(before, _files(folder))
    finally:
        os.close(lock)


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
