"""Memory that this process shares with task processes, so that uploads and samples are not copied through a pipe.

It is an anonymous file (memfd), whose descriptor the other process gets with its task.
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
    """Shared memory of ``size`` bytes; ``write`` appends more. Pages without writes take no memory.

    The creator's use ends with ``close``. Each ``use`` is another one. The last one that ends frees the memory.
    """

    def __init__(self, size: int = 0) -> None:
        self._file = os.memfd_create("quartet", os.MFD_CLOEXEC)
        self._uses = 1
        self.size = size
        if size:
            os.ftruncate(self._file, size)

    @property
    def attached(self) -> "Attached":
        """The handle for a task process."""
        return Attached(self._file, self.size)

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
        # A closed descriptor may belong to another file.
        if not self._uses:
            raise ValueError("the memory has been given back")

    def close(self) -> None:
        """End one use."""
        self._uses -= 1
        if not self._uses:
            os.close(self._file)


@dataclass(frozen=True)
class Attached:
    """The same memory in a task process, by its descriptor there."""

    descriptor: int
    size: int

    def file(self) -> BinaryIO:
        """The bytes as a file of its own, which the caller closes."""
        return open(self._path, "rb")

    @property
    def _path(self) -> str:
        return f"/proc/self/fd/{self.descriptor}"

    def samples(self) -> NDArray[np.int16]:
        """The bytes as a writable array, int16 [size / 2]. The mapping lives as long as the array."""
        with open(self._path, "r+b") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), self.size), np.int16)
