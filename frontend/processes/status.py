"""Counts of workers, which the parent shares with each worker."""

import os
import struct
from dataclasses import astuple, dataclass

_LAYOUT = struct.Struct("5q")


@dataclass(frozen=True)
class WorkerCounts:
    """How many workers there are to be, how many accept requests, how many finish what they have begun and then end,
    how often one was started again, and how many died again so soon that their next start waits.
    """

    wanted: int
    accepting: int = 0
    leaving: int = 0
    restarts: int = 0
    failing: int = 0


class SharedStatus:
    """An anonymous file in memory, by its descriptor. The parent writes and every worker reads."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def new(cls) -> "SharedStatus":
        return cls(os.memfd_create("quartet-workers", os.MFD_CLOEXEC))

    def write(self, counts: WorkerCounts) -> None:
        """Publish the counts to the workers."""
        os.pwrite(self.descriptor, _LAYOUT.pack(*astuple(counts)), 0)

    def read(self) -> WorkerCounts:
        """The last counts; ``struct.error`` before the first write."""
        return WorkerCounts(*_LAYOUT.unpack(os.pread(self.descriptor, _LAYOUT.size, 0)))

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)
