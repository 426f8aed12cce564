"""What the parent of the workers knows of them, for each of them to tell."""

import os
import struct
from dataclasses import astuple, dataclass

_LAYOUT = struct.Struct("5q")


@dataclass(frozen=True)
class Group:
    """Of the workers: how many there are to be, how many accept requests, how many finish what they have begun and
    then end, how often one was started again, and how many died again so soon that their next start waits.
    """

    wanted: int
    accepting: int = 0
    leaving: int = 0
    restarts: int = 0
    failing: int = 0


class Board:
    """An anonymous file in memory, by its descriptor: the parent writes, every worker reads."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def new(cls) -> "Board":
        """An empty one."""
        return cls(os.memfd_create("quartet-workers", os.MFD_CLOEXEC))

    def write(self, group: Group) -> None:
        """Tell the workers."""
        os.pwrite(self.descriptor, _LAYOUT.pack(*astuple(group)), 0)

    def read(self) -> Group:
        """What was told last; ``struct.error`` before the first time."""
        return Group(*_LAYOUT.unpack(os.pread(self.descriptor, _LAYOUT.size, 0)))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)
