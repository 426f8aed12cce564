"""Room on the disk that is held back, so that what is under way can still be written down when nothing else fits."""

import errno
import os
from pathlib import Path

_SLICE = 1024 * 1024
# Some 2,500 charges.
_SIZE = 8 * _SLICE


class Ballast:
    """A file whose length is the room held back: none, until it is first filled."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @property
    def whole(self) -> bool:
        """Whether nothing had to be given up since it was filled."""
        return os.fstat(self._file).st_size >= _SIZE

    def fill(self) -> None:
        """Hold all of it; ``OSError`` where the disk has no room. May wait for the disk: for a thread."""
        held, disk = os.fstat(self._file).st_size, os.fstatvfs(self._file)
        if held + disk.f_bavail * disk.f_frsize < _SIZE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # Part by part: who gives some up meanwhile waits for one part at most.
        for end in range(held + _SLICE, _SIZE + 1, _SLICE):
            os.posix_fallocate(self._file, 0, end)

    def give_up(self, *, keep_last: bool) -> bool:
        """Make some room at once; False where there is nothing left to give up, or only the last part."""
        size = os.fstat(self._file).st_size
        if size <= (_SLICE if keep_last else 0):
            return False
        os.ftruncate(self._file, max(0, size - _SLICE))
        return True

    def close(self) -> None:
        """Give all of it up, for good."""
        os.close(self._file)
        self._path.unlink(missing_ok=True)
