"""The frames of a WebSocket, before aiohttp reads them: it takes some without a mask, and any number of small ones."""

from collections import deque
from collections.abc import Callable

from aiohttp.http import WebSocketReader

from frontend.extensions.realtime.pace import Pace

# Frames a second in the long run, and at once. One of this many bytes counts as none: its bytes take longer.
_FRAMES_A_SECOND, _FRAMES_AT_ONCE, _FREE_BYTES = 250, 1000, 1024
_MASKED, _LENGTH, _MASK_BYTES = 0x80, 0x7F, 4
# Bytes of the length behind the first two, by what stands there instead.
_LONGER = {126: 2, 127: 8}
# The last frame of a message, and the kinds of frames that are parts of one.
_FINAL, _KIND, _PARTS = 0x80, 0x0F, (0, 1, 2)
# Bytes of messages between two calls of ``grown``.
_STEP_BYTES = 64 * 1024
# Bytes that are read at once. Small frames take long.
_PIECE_BYTES = 8 * 1024
# The beginning of a frame that aiohttp refuses, with 1002, as it should one without a mask (RFC 6455, 5.1).
_REFUSED = b"\xf0\x80"


class FrameReader:
    """Stands before aiohttp's reader, and calls ``rest`` with the seconds for which no more should be read.

    aiohttp keeps a message until it is complete and read. ``held`` are the bytes of all that are not ``taken`` yet, and
    ``grown`` is called after each 64 KiB of them.
    """

    def __init__(self, reader: WebSocketReader, rest: Callable[[float], None]) -> None:
        self._reader, self._rest, self._pace = reader, rest, Pace(_FRAMES_A_SECOND, _FRAMES_AT_ONCE)
        # The first bytes of a frame, the bytes up to the next one, and a first byte that came alone.
        self._head, self._left, self._alone = bytearray(), 0, b""
        # What is not read yet, and whether it waits for ``go_on``.
        self._unread, self._waits = b"", False
        # The bytes of messages that are complete, in order, and of the one that arrives; whether this frame is one's.
        self._complete, self._arrived, self._is_part, self._is_last = deque[int](), 0, False, False
        self.grown: Callable[[], None] = lambda: None
        self._told = 0

    @property
    def held(self) -> int:
        return sum(self._complete) + self._arrived

    def taken(self) -> None:
        """Note that the oldest complete message was read."""
        self._complete.popleft()
        self._told = min(self._told, self.held)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Read bytes, as the reader does; what is too much or too early, when ``go_on`` is called."""
        self._unread += data
        return (False, b"") if self._waits else self.go_on()

    def go_on(self) -> tuple[bool, bytes]:
        """Read on after a rest."""
        data, self._unread = self._alone + self._unread[:_PIECE_BYTES], self._unread[_PIECE_BYTES:]
        weight, end = self._read(data)
        early = self._pace.wait(weight)
        self._waits = early > 0 or bool(self._unread)
        if self._waits:
            self._rest(max(0.0, early))
        if end < 0:
            return self._reader.feed_data(data[:end] + _REFUSED)
        self._alone = data[end:]
        if self.held >= self._told + _STEP_BYTES:
            self._told = self.held
            self.grown()
        return self._reader.feed_data(data[:end])

    def feed_eof(self) -> None:
        self._reader.feed_eof()

    def _read(self, data: bytes) -> tuple[float, int]:
        """Read the heads of frames that begin in these bytes.

        Returns how many small ones there are, and the end of what may be read; negative before one without a mask.
        """
        position, weight = 0, 0.0
        while position < len(data):
            if self._left:
                skipped = min(self._left, len(data) - position)
                self._left -= skipped
                position += skipped
                self._count(skipped)
                continue
            if not self._head and position == len(data) - 1:
                return weight, position
            self._head.append(data[position])
            position += 1
            if len(self._head) < 2:
                continue
            if not self._head[1] & _MASKED:
                return weight, position - 2 - len(data)
            length = self._head[1] & _LENGTH
            if len(self._head) < 2 + _LONGER.get(length, 0):
                continue
            size = int.from_bytes(self._head[2:]) if length in _LONGER else length
            self._left = _MASK_BYTES + size
            self._is_part, self._is_last = self._head[0] & _KIND in _PARTS, bool(self._head[0] & _FINAL)
            weight += max(0.0, 1 - size / _FREE_BYTES)
            self._head.clear()
        return weight, position

    def _count(self, skipped: int) -> None:
        if not self._is_part:
            return
        self._arrived += skipped
        if self._is_last and not self._left:
            self._complete.append(self._arrived)
            self._arrived = 0
