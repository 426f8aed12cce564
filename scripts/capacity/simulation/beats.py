"""What frontends tell each other once a second, without a Redis between them."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frontend.dispatch.division import View
from frontend.dispatch.heartbeat import Heartbeat, Told
from frontend.dispatch.shared_shares import SharedShares
from frontend.dispatch.shares import Demand

# The script of frontend/dispatch/heartbeat.py forgets a frontend that has told nothing for so many beats.
_DEAD_BEATS = 3
_NOWHERE = "redis://nowhere"


@dataclass
class _Word:
    beat: int
    last: Any
    earlier: Any


class Board:
    """The hash that all write to; the steps are those of the script in frontend/dispatch/heartbeat.py."""

    def __init__(self) -> None:
        self._words: dict[str, _Word] = {}

    def tell(self, name: str, words: Any) -> Told:
        """Write what ``name`` says, None to leave, and read what all had said before this second began."""
        beat, part = divmod(asyncio.get_running_loop().time(), 1)
        told, others, before = {}, 0, None
        for its, word in list(self._words.items()):
            if word.beat < beat - _DEAD_BEATS:
                if word.beat < beat - 2 * _DEAD_BEATS:
                    del self._words[its]
                continue
            closed = word.earlier if word.beat == beat else word.last
            if closed is not None:
                told[its] = closed
            if its == name:
                before = closed
            elif word.last is not None:
                others += 1
        self._words[name] = _Word(int(beat), words, before)
        return Told(int(beat), part, others, told)


class _BoardHeartbeat(Heartbeat):
    def __init__(self, board: Board, name: str) -> None:
        super().__init__(_NOWHERE, name)
        self._board, self.is_dead = board, False

    async def tell(self, words: Any) -> Told:
        if self.is_dead:
            raise OSError("it has no machine any more")
        return self._board.tell(self._name, words)


class BoardShares(SharedShares):
    """The product's own shares over a board; ``name`` is the frontend's, so that a run can be repeated."""

    def __init__(
        self,
        board: Board,
        name: str,
        tells: Callable[[], Mapping[str, tuple[Demand, View]]],
        changed: Callable[[], None],
        zone: str,
    ) -> None:
        super().__init__(_NOWHERE, tells, changed, {}, zone)
        self._name = name
        self._board = self._heartbeat = _BoardHeartbeat(board, name)

    def die(self) -> None:
        """Tell nothing more, without a word to the others."""
        self._board.is_dead = True
