"""Lets a few messages of all sessions through per iteration of the event loop."""

import asyncio
from collections import deque

# A message takes about 0.1 ms.
_AT_ONCE = 4


class Turnstile:
    """Sessions take turns here with each message, so that a crowd of them delays no other request."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = _AT_ONCE
        self._is_due = False

    async def turn(self) -> None:
        """Wait for one's turn, if others had theirs in this iteration."""
        self._schedule()
        if self._left > 0 and not self._waiting:
            self._left -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _schedule(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._let_through)

    def _let_through(self) -> None:
        self._left, self._is_due = _AT_ONCE, False
        while self._left > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._waiting:
            self._schedule()
