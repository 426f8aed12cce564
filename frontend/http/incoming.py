"""What has come over a connection and the parser has not had."""

import asyncio
import fcntl
import struct
import termios

# A head is kept as far as this, to be looked at where the parser refuses it.
LONGEST_HEAD = 32 * 1024
# What is parsed at a time is smaller where it takes longer than that.
_PIECE_SECONDS = 0.0005
_LEAST_PIECE, _MOST_PIECE = 1024, 8 * 1024


class Incoming:
    """Bytes that are handed out piece by piece; each piece is as large as the ones before were fast to parse."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._piece = _LEAST_PIECE
        self._kept = bytearray()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        """Something has come."""
        self._waiting += data

    def take(self, *, keep: bool) -> bytes:
        """The next piece; ``keep`` it where it may be of a request's head."""
        piece = bytes(self._waiting[: self._piece])
        del self._waiting[: self._piece]
        if keep and len(self._kept) < LONGEST_HEAD:
            self._kept += piece
        return piece

    def took(self, seconds: float) -> None:
        """The last piece was parsed in so long."""
        fast = seconds < _PIECE_SECONDS
        self._piece = min(_MOST_PIECE, 2 * self._piece) if fast else max(_LEAST_PIECE, self._piece // 2)

    def head(self) -> bytes:
        """What was kept, and what follows it."""
        return bytes(self._kept + self._waiting[:LONGEST_HEAD])

    def forget_head(self) -> None:
        """The request is answered: what was kept is of no use."""
        self._kept.clear()

    def drop(self) -> None:
        """Nobody will parse what waits."""
        self._waiting.clear()


def unread_bytes(wire: asyncio.BaseTransport) -> int:
    """How much has come that the event loop has not taken from the kernel."""
    (count,) = struct.unpack("i", fcntl.ioctl(wire.get_extra_info("socket").fileno(), termios.FIONREAD, bytes(4)))
    return int(count)
