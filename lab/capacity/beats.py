"""Shares the state of frontends without Redis."""

import asyncio
from collections.abc import Callable
from typing import Any

from frontend.peers.frontends import SharedFrontends, Snapshot

# As in the script of frontend/peers/frontends.py.
_DEAD_SECONDS = 2.0
_NOWHERE = "redis://nowhere"


class Board:
    """The shared hash, with the steps of the script for Redis."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[float, bytes]] = {}

    def exchange(self, name: str, state: bytes) -> list[bytes]:
        """Write the ``state`` of the frontend ``name``, or remove it if empty, and return the states of all."""
        now = asyncio.get_running_loop().time()
        if not state:
            self._states.pop(name, None)
            return []
        self._states[name] = now, state
        self._states = {other: entry for other, entry in self._states.items() if now - entry[0] <= _DEAD_SECONDS}
        return [part for other, (_, written) in self._states.items() for part in (other.encode(), written)]


class BoardFrontends(SharedFrontends):
    """The product's class over a board; a given ``name`` makes runs repeatable."""

    def __init__(self, board: Board, name: str, snapshot: Callable[[], Snapshot], changed: Callable[[], None]) -> None:
        super().__init__(_NOWHERE, snapshot, changed)
        self.name, self._board = name, board

    async def _publish(self, state: bytes) -> Any:
        return self._board.exchange(self.name, state)
