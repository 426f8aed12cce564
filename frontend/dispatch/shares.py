"""How several frontends divide the slots of a model: by what each of them could use now."""

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError

from frontend.background import Repeating

_DEMANDS = "quartet:demands"
_BEAT_SECONDS = 1.0
_DEAD_SECONDS = 3
_PATIENCE_SECONDS = 0.5


def divide(slots: int, demands: Mapping[str, int]) -> dict[str, int]:
    """Slots by frontend, max-min fair: nobody gets more than it could use while another wants more, each at least one.

    ``demands`` is what each has waiting and running. What nobody wants now is divided evenly, for who comes next.
    The algorithm is progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2), in whole slots.
    """
    given = dict.fromkeys(demands, 0)
    left = max(slots, len(demands))
    wanting = sorted(demands, key=lambda name: (demands[name], name))
    for place, name in enumerate(wanting):
        fair = left // (len(wanting) - place)
        given[name] = max(1, min(demands[name], fair))
        left -= given[name]
    for place, name in enumerate(sorted(demands)):
        given[name] += left // len(demands) + (place < left % len(demands))
    return given


class FixedShares:
    """An equal part for each of a number of frontends that was set."""

    def __init__(self, frontends: int) -> None:
        self._frontends = frontends

    def own(self, model: str, slots: int) -> int:
        """How many of a backend's slots for a model this frontend has, at least one."""
        return max(1, slots // self._frontends)


class SharedShares:
    """What frontends tell each other once a second in Redis; while that is away, the last shares hold.

    A frontend that has not told anything for three seconds is dead, and its slots go to the others.
    """

    def __init__(self, url: str, demands: Callable[[], Mapping[str, int]]) -> None:
        self._redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )
        self._demands = demands
        self._name = uuid.uuid4().hex
        self._known: dict[str, dict[str, int]] = {self._name: {}}
        self._heart = Repeating(_BEAT_SECONDS, self.beat)

    async def start(self) -> None:
        """Tell once, then again and again."""
        await self.beat()
        self._heart.start()

    async def close(self) -> None:
        """Leave the slots to the others at once."""
        await self._heart.close()
        with suppress(RedisError, OSError, TimeoutError):
            await self._forget(self._name)
        await self._redis.aclose()

    def own(self, model: str, slots: int) -> int:
        """How many of a backend's slots for a model this frontend has, at least one."""
        return divide(slots, {name: its.get(model, 0) for name, its in self._known.items()})[self._name]

    async def beat(self) -> None:
        """Write down what this frontend wants, and read what the others do."""
        with suppress(RedisError, OSError, TimeoutError):
            now, _ = await self._redis.time()
            mine = json.dumps({"at": now, "demands": dict(self._demands())})
            async with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.hset(_DEMANDS, self._name, mine)
                pipeline.hgetall(_DEMANDS)
                told = (await pipeline.execute())[-1]
            all_ = {name.decode(): json.loads(text) for name, text in told.items()}
            self._known = {name: its["demands"] for name, its in all_.items() if its["at"] > now - _DEAD_SECONDS}
            if dead := all_.keys() - self._known.keys():
                await self._forget(*dead)

    async def _forget(self, *names: str) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.hdel(_DEMANDS, *names)
            await pipeline.execute()
