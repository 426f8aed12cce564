"""Callers who ask and do not read."""

import asyncio

_LOOKS = 10


class StallWatch:
    """Ends a connection that nothing has left for ``seconds`` while something is to be written to it."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport, self._seconds = transport, seconds
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The caller does not read as fast as is written: it has its time to go on, again after each byte."""
        self._look(self._transport.get_write_buffer_size(), self._loop.time())

    def end(self) -> None:
        """The caller has caught up, or is gone."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _look(self, before: int, since: float) -> None:
        """``before`` bytes were to be written ``since`` then."""
        now = self._loop.time()
        if (left := self._transport.get_write_buffer_size()) != before:
            before, since = left, now
        if now - since < self._seconds:
            self._next = self._loop.call_later(self._seconds / _LOOKS, self._look, before, since)
        else:
            self._transport.abort()
