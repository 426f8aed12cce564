"""Shares the state of frontends without Redis."""

import asyncio
from collections.abc import Callable
from typing import Any

from frontend.peers.frontends import SharedFrontends, Snapshot

# As in the script of frontend/peers/frontends.py.
_DEAD_SECONDS = 2.0
_NOWHERE = "redis://nowhere"


class Board:
    """The shared hash, with the steps of the script."""

    def __init__(self) -> None:
        self._words: dict[str, tuple[float, bytes]] = {}

    def tell(self, name: str, words: bytes) -> list[bytes]:
        """Write the state of ``name``, or remove it if empty, and read that of all."""
        now = asyncio.get_running_loop().time()
        if not words:
            self._words.pop(name, None)
            return []
        self._words[name] = now, words
        self._words = {its: entry for its, entry in self._words.items() if now - entry[0] <= _DEAD_SECONDS}
        return [part for its, (_, state) in self._words.items() for part in (its.encode(), state)]


class BoardFrontends(SharedFrontends):
    """The product's class over a board; a given ``name`` makes runs repeatable."""

    def __init__(self, board: Board, name: str, tells: Callable[[], Snapshot], changed: Callable[[], None]) -> None:
        super().__init__(_NOWHERE, tells, changed)
        self.name, self._board = name, board

    async def _publish(self, words: bytes) -> Any:
        return self._board.tell(self.name, words)
