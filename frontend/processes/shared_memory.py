"""Memory that this process and its workers share, so that uploads and samples are never copied through a pipe.

Each is an anonymous file (memfd), which workers open by its path under /proc.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray


class SharedBytes:
    """Grows by ``write`` or has the size it is made with; pages that nobody wrote to take no memory.

    Whoever made it has one use of it, which ``close`` ends, and each ``use`` is another: the memory is given back with
    the last.
    """

    def __init__(self, size: int = 0) -> None:
        self._file = os.memfd_create("quartet", os.MFD_CLOEXEC)
        self._uses = 1
        self.size = size
        if size:
            os.ftruncate(self._file, size)

    @property
    def attached(self) -> "Attached":
        """The handle for a worker process."""
        return Attached(f"/proc/{os.getpid()}/fd/{self._file}", self.size)

    def write(self, data: bytes) -> None:
        """Append data."""
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]
        self.size += len(data)

    def shrink(self, size: int) -> None:
        """Release the bytes after ``size``."""
        os.ftruncate(self._file, size)
        self.size = size

    def read(self, count: int, start: int = 0) -> bytes:
        """A copy of at most ``count`` bytes from ``start``."""
        self._check()
        return os.pread(self._file, count, start)

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keep the memory within the block, even if its owner closes it."""
        self._check()
        self._uses += 1
        try:
            yield
        finally:
            self.close()

    def _check(self) -> None:
        # After a close, the file's number may belong to another file.
        if not self._uses:
            raise ValueError("the memory has been given back")

    def close(self) -> None:
        """End one use."""
        self._uses -= 1
        if not self._uses:
            os.close(self._file)


@dataclass(frozen=True)
class Attached:
    """The same memory in a worker process."""

    path: str
    size: int

    def file(self) -> BinaryIO:
        """The bytes as a file, which the caller closes."""
        return open(self.path, "rb")

    def samples(self) -> NDArray[np.int16]:
        """The bytes as int16 [size / 2], to be written to; the mapping lives as long as the array."""
        with open(self.path, "r+b") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), self.size), np.int16)
