"""How several frontends divide the slots of a model: by what each of them could use now."""

import dataclasses
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from frontend.observe.stores import asking_redis
from frontend.processes.background import Repeating

_DEMANDS = "quartet:demands"
_BEAT_SECONDS = 1.0
_DEAD_SECONDS = 3
_PATIENCE_SECONDS = 0.5

# Slots by owner, by model.
Floors = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Demand:
    """How many calls of a model wait or run in a frontend, and how many of them are of each owner of a floor."""

    calls: int = 0
    owners: Mapping[str, int] = field(default_factory=dict)


def divide(slots: int, demands: Mapping[str, int], least: Mapping[str, int] | None = None) -> dict[str, int]:
    """Slots by frontend, max-min fair: nobody gets more than it could use while another wants more, each at least one.

    ``demands`` is what each has waiting and running; ``least`` is what some have whatever the others want. What nobody
    wants now is divided evenly, for who comes next. The algorithm is progressive filling with lower bounds (Bertsekas
    and Gallager, Data Networks, 6.5.2), in whole slots.
    """
    low = {name: max(1, (least or {}).get(name, 0)) for name in demands}
    high = {name: max(low[name], demand) for name, demand in demands.items()}

    def filled(level: int) -> dict[str, int]:
        return {name: min(high[name], max(low[name], level)) for name in demands}

    level = max((level for level in range(slots + 1) if sum(filled(level).values()) <= slots), default=0)
    given, next_ = filled(level), filled(level + 1)
    left = max(0, slots - sum(given.values()))
    for name in sorted(given):
        if left and next_[name] > given[name]:
            given[name] += 1
            left -= 1
    for place, name in enumerate(sorted(given)):
        given[name] += left // len(given) + (place < left % len(given))
    return given


class Shares(Protocol):
    """Says what of a model is this frontend's."""

    def own(self, model: str, slots: int) -> int:
        """How many of a backend's slots for a model, at least one."""

    def floors(self, model: str) -> Mapping[str, int]:
        """How much of each owner's floor."""


class FixedShares:
    """An equal part for each of a number of frontends that was set."""

    def __init__(self, frontends: int, floors: Floors) -> None:
        self._frontends, self._floors = frontends, floors

    def own(self, model: str, slots: int) -> int:
        """How many of a backend's slots for a model this frontend has, at least one."""
        return max(1, slots // self._frontends)

    def floors(self, model: str) -> dict[str, int]:
        """How much of each owner's floor this frontend keeps."""
        return {owner: -(-floor // self._frontends) for owner, floor in self._floors.get(model, {}).items()}


class SharedShares:
    """What frontends tell each other once a second in Redis; while that is away, the last shares hold.

    A frontend that has not told anything for three seconds is dead, and its slots go to the others.
    """

    def __init__(self, url: str, demands: Callable[[], Mapping[str, Demand]], floors: Floors) -> None:
        self._redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )
        self._demands, self._floors = demands, floors
        self._name = uuid.uuid4().hex
        self._known: dict[str, dict[str, Demand]] = {self._name: {}}
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
        its = self._of(model)
        least = dict.fromkeys(its, 0)
        for owner in self._floors.get(model, {}):
            for name, floor in self._floor(model, owner).items():
                least[name] += min(floor, its[name].owners.get(owner, 0))
        return divide(slots, {name: demand.calls for name, demand in its.items()}, least)[self._name]

    def floors(self, model: str) -> dict[str, int]:
        """How much of each owner's floor this frontend keeps: by where the owner's calls are, at least one."""
        return {owner: self._floor(model, owner)[self._name] for owner in self._floors.get(model, {})}

    def _of(self, model: str) -> dict[str, Demand]:
        return {name: its.get(model, Demand()) for name, its in self._known.items()}

    def _floor(self, model: str, owner: str) -> dict[str, int]:
        wants = {name: demand.owners.get(owner, 0) for name, demand in self._of(model).items()}
        return divide(self._floors[model][owner], wants)

    async def beat(self) -> None:
        """Write down what this frontend wants, and read what the others do."""
        with suppress(RedisError, OSError, TimeoutError), asking_redis("shares"):
            now, _ = await self._redis.time()
            demands = {model: dataclasses.asdict(demand) for model, demand in self._demands().items()}
            mine = json.dumps({"at": now, "demands": demands})
            async with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.hset(_DEMANDS, self._name, mine)
                pipeline.hgetall(_DEMANDS)
                told = (await pipeline.execute())[-1]
            all_ = {name.decode(): json.loads(text) for name, text in told.items()}
            self._known = {
                name: {model: Demand(**demand) for model, demand in its["demands"].items()}
                for name, its in all_.items()
                if its["at"] > now - _DEAD_SECONDS
            }
            if dead := all_.keys() - self._known.keys():
                await self._forget(*dead)

    async def _forget(self, *names: str) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.hdel(_DEMANDS, *names)
            await pipeline.execute()
