"""The board is what the script in Redis is: both are told the same."""

import asyncio
import random
from typing import Any

import pytest

from frontend.dispatch import heartbeat
from frontend.dispatch.heartbeat import Heartbeat, Told
from scripts.capacity.simulation.beats import Board
from tests.redis import RedisServer

_NOW = "redis.call('TIME')"


class Moment:
    """A loop whose time is what the test says."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def time(self) -> float:
        return self.seconds


async def test_a_board_tells_what_the_script_tells(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, board, moment, script = random.Random(1), Board(), Moment(), heartbeat._TELL
    names, told = ("a", "b", "c"), []
    for number in range(60):
        moment.seconds += rng.choice((0.1, 0.4, 1.0, 1.0, 4.5))
        name, words = rng.choice(names), {"said": number} if rng.random() < 0.8 else None
        theirs = await _redis(redis_server.url, script, monkeypatch, moment, name, words)
        told.append((theirs, _board(board, monkeypatch, moment, name, words)))
    for theirs, ours in told:
        assert (ours.number, ours.others, ours.words) == (theirs.number, theirs.others, theirs.words)


async def _redis(url: str, script: str, patch: pytest.MonkeyPatch, moment: Moment, name: str, words: Any) -> Told:
    clock = f"{{'{int(moment.seconds)}', '{int(moment.seconds % 1 * 1e6)}'}}"
    patch.setattr(heartbeat, "_TELL", script.replace(_NOW, clock))
    beat = Heartbeat(url, name)
    try:
        return await beat.tell(words)
    finally:
        await beat.close()


def _board(board: Board, patch: pytest.MonkeyPatch, moment: Moment, name: str, words: Any) -> Told:
    with patch.context() as patched:
        patched.setattr(asyncio, "get_running_loop", lambda: moment)
        return board.tell(name, words)
