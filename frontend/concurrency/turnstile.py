"""Lets a few pieces of work through per iteration of the event loop."""

import asyncio
from collections import deque


class Turnstile:
    """Work takes turns here, so that much of it at once delays no other request. ``at_once`` go on per iteration."""

    def __init__(self, at_once: int) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
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
        self._left, self._is_due = self._at_once, False
        while self._left > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._waiting:
            self._schedule()
