"""A disk of 64 MB that only the processes on it see, and that a test can fill."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT

_PAGE = 4096
# Root needs no other user: that one could not read what belongs to others, such as the socket of Postgres.
_IS_ROOT = os.geteuid() == 0
_UNSHARE = ("unshare", "--mount", *(() if _IS_ROOT else ("--map-root-user",)))
_ENTER = ("nsenter", "--mount", *(() if _IS_ROOT else ("--user", "--preserve-credentials")))
_MOUNT = 'mount -t tmpfs -o size=64m none "$0" && echo mounted && exec sleep infinity'


class SmallDisk:
    """The disk at ``folder``; ``within`` is a command that runs another one on it."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.within = (*_ENTER, f"--target={pid}", f"--wd={ROOT}")
        self.folder = Path(f"/proc/{pid}/root{folder}")
        self._filling = self.folder / "filling"

    def fill(self, room: int = 0) -> None:
        """Fill it at once, but for ``room`` bytes."""
        with self._filling.open("ab", buffering=0) as written, contextlib.suppress(OSError):
            if (most := self._room() - room) > 0:
                os.posix_fallocate(written.fileno(), self._filling.stat().st_size, most)
            # What others gave back meanwhile.
            while self._room() > room:
                written.write(bytes(_PAGE))

    def _room(self) -> int:
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def free(self) -> None:
        self._filling.unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk | None]:
    """Mount one at ``folder``; None where this machine lets nobody do that."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [*_UNSHARE, "sh", "-c", _MOUNT, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        try:
            yield SmallDisk(folder, holder.pid) if holder.stdout.readline() else None
        finally:
            holder.kill()
