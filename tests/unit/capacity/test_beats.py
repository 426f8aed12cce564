"""The board is what the script in Redis is: both are told the same."""

import asyncio
import random
import uuid

import orjson
import pytest

from frontend.peers import frontends
from frontend.peers.frontends import SharedFrontends
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
    monkeypatch.setattr(frontends, "_HASH", f"frontends {uuid.uuid4()}")
    rng, board, moment, script = random.Random(1), Board(), Moment(), frontends._TELL
    theirs = SharedFrontends(redis_server.url, lambda: {}, lambda: None)
    told: set[str] = set()
    for number in range(60):
        moment.seconds += rng.choice((0.1, 0.4, 1.0, 1.0, 2.5))
        theirs.name = rng.choice("abc")
        leaves = theirs.name in told and rng.random() < 0.2
        words = b"" if leaves else orjson.dumps({"said": number})
        (told.discard if leaves else told.add)(theirs.name)
        clock = f"{{'{int(moment.seconds)}', '{round(moment.seconds % 1 * 1e6)}'}}"
        theirs._script = theirs.redis.register_script(script.replace(_NOW, clock))
        answer = await theirs._tell(words)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "get_running_loop", lambda: moment)
            ours = board.tell(theirs.name, words)
        if not leaves:
            assert _pairs(ours) == _pairs(answer)
    await theirs.close()


def _pairs(told: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(told[::2], told[1::2], strict=True))
