"""What frontends tell each other, without a Redis between them."""

import asyncio
from collections.abc import Callable
from typing import Any

from frontend.peers.frontends import SharedFrontends, Snapshot

# As the script of frontend/peers/frontends.py forgets a frontend.
_DEAD_SECONDS = 2.0
_NOWHERE = "redis://nowhere"


class Board:
    """The hash that all write to; the steps are those of the script."""

    def __init__(self) -> None:
        self._words: dict[str, tuple[float, bytes]] = {}

    def tell(self, name: str, words: bytes) -> list[bytes]:
        """Write what ``name`` says, nothing to leave, and read what all have said."""
        now = asyncio.get_running_loop().time()
        if not words:
            self._words.pop(name, None)
            return []
        self._words[name] = now, words
        self._words = {its: told for its, told in self._words.items() if now - told[0] <= _DEAD_SECONDS}
        return [part for its, (_, told) in self._words.items() for part in (its.encode(), told)]


class BoardFrontends(SharedFrontends):
    """The product's own over a board; ``name`` is the frontend's, so that a run can be repeated."""

    def __init__(self, board: Board, name: str, tells: Callable[[], Snapshot], changed: Callable[[], None]) -> None:
        super().__init__(_NOWHERE, tells, changed)
        self.name, self._board = name, board

    async def _publish(self, words: bytes) -> Any:
        return self._board.tell(self.name, words)
