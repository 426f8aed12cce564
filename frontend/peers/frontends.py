"""What frontends over the same Tritons tell each other: which models they use, and who loads a dead model anew.

Without Redis a number of frontends that was set is believed, and each waits for a random moment before it loads.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from frontend.observe.stores import REDIS_AWAY, asking_redis
from frontend.processes.background import Repeating

if TYPE_CHECKING:
    from redis.asyncio.lock import Lock

_HASH, _LOCK = "quartet:dispatch", "quartet:lock"
_PATIENCE_SECONDS = 0.5
_BEAT_SECONDS = 0.5
# Beats until all others have heard what was told first in one: each may be a little late.
_HEARD_BEATS = 3
# Whoever has told nothing for two seconds is dead: with the beats of the others, its part is in use within three.
_TELL = """
local time = redis.call('TIME')
local now, told = time[1] + time[2] / 1000000, {}
if ARGV[2] == '' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f', now) .. ' ' .. ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local at, words = string.match(all[i + 1], '^(%S+) (.*)$')
    if tonumber(at) < now - 2 then
        redis.call('HDEL', KEYS[1], all[i])
    else
        table.insert(told, all[i])
        table.insert(told, words)
    end
end
return told
"""
# Whoever is killed while it loads a model keeps the others away for so long.
_LEASE_SECONDS = 10.0


# What a frontend tells: by model that has calls, or had lately, the work of an execution; 0 where it measured none.
# Bulk work does not make a model used.
Told = Mapping[str, float]


@dataclass(frozen=True)
class Part:
    """What of a model is this frontend's: ``share`` of what may be in flight; with 0 one call may be.

    It is number ``number`` of ``count`` frontends. ``is_used_elsewhere`` says that others have calls that are no bulk
    work, and ``batch`` how much work an execution has with the one that measures it, if that is another.
    """

    share: float = 1.0
    number: int = 0
    count: int = 1
    is_used_elsewhere: bool = False
    batch: float | None = None


class FixedFrontends:
    """A number of frontends that was set: each has an equal part. They wait up to ``seconds`` before they load."""

    def __init__(self, count: int, seconds: float = 0.0) -> None:
        self._count, self._seconds = count, seconds
        # Nobody tells which number is whose.
        self._number = random.randrange(count)

    def part(self, model: str) -> Part:
        """An equal one."""
        return Part(1 / self._count, self._number, self._count)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[bool]:
        """This frontend may always, after its pause."""
        await asyncio.sleep(random.random() * self._seconds)
        yield True

    async def start(self) -> None:
        """There is nobody to hear of."""

    async def close(self) -> None:
        """Nobody hears of it."""


class SharedFrontends:
    """Those that tell each other in Redis, twice a second, what ``tells`` gives.

    ``changed`` hears of news. Those that use a model have equal parts of it; one that nobody uses is all frontends',
    for bulk work. One that begins to use what another uses has a call at a time until the others have heard of it; so
    no part is two frontends'. While Redis is away, the last parts hold; a frontend that has never reached it takes all.
    """

    def __init__(self, url: str, tells: Callable[[], Told], changed: Callable[[], None]) -> None:
        # Long to import, and most frontends have no Redis.
        from redis.asyncio import Redis

        self.redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )
        self._script = self.redis.register_script(_TELL)
        self.name = uuid.uuid4().hex
        self._tells, self._changed = tells, changed
        # What frontends told last, by name; in how many beats this one has told that it uses a model, and anything.
        self._told: Mapping[str, Told] = {}
        self._beats: dict[str, int] = {}
        self._alive = 0
        # Whether the last beat failed; and for how many beats after that others may be there that are not seen yet.
        self._lost, self._wary = False, 0
        self._repeating = Repeating(_BEAT_SECONDS, self.beat)

    async def start(self) -> None:
        """Tell once, then again and again."""
        await self.beat()
        self._repeating.start()

    async def close(self) -> None:
        """Leave its part to the others."""
        await self._repeating.close()
        with suppress(*REDIS_AWAY):
            await self._tell(b"")
        await self.redis.aclose()

    @property
    def count(self) -> int:
        """How many frontends there are, by the last beat that Redis answered."""
        return max(1, len(self._told))

    def part(self, model: str) -> Part:
        """What of a model is this frontend's, by the last beat."""
        names = sorted(self._told)
        if self.name not in names or (len(names) < 2 and not self._wary):
            return Part()
        users = [name for name in names if model in self._told[name]]
        others = [name for name in users if name != self.name]
        share = 0.0
        if self._beats.get(model, 0) >= _HEARD_BEATS:
            share = 1 / (len(others) + 1)
        elif not others and self._alive >= _HEARD_BEATS:
            share = 1 / len(names)
        measured = [name for name in users if self._told[name][model]]
        batch = self._told[measured[0]][model] if measured and measured[0] != self.name else None
        return Part(share, names.index(self.name), len(names), bool(others), batch)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[bool]:
        """Whether this frontend has the lock and no other; while Redis is away, each may."""
        lock = self.redis.lock(f"{_LOCK}:{name}", timeout=_LEASE_SECONDS)
        try:
            with asking_redis("locks"):
                mine = bool(await lock.acquire(blocking=False))
        except REDIS_AWAY:
            yield True
            return
        if not mine:
            yield False
            return
        keeping = Repeating(_LEASE_SECONDS / 3, lambda: _prolong(lock))
        keeping.start()
        try:
            yield True
        finally:
            await keeping.close()
            with suppress(*REDIS_AWAY), asking_redis("locks"):
                await lock.release()

    async def beat(self) -> None:
        """Tell the others, and hear of them."""
        tells = self._tells()
        try:
            told = await self._tell(orjson.dumps(tells))
        except REDIS_AWAY:
            self._lost = True
        else:
            if self._lost:
                # Until all have told again, each sees a few: with the parts of these they would have too much.
                self._lost, self._wary, self._alive, self._beats = False, _HEARD_BEATS + 1, 0, {}
            self._wary = max(0, self._wary - 1)
            self._told = {name.decode(): orjson.loads(words) for name, words in zip(told[::2], told[1::2], strict=True)}
            self._alive += 1
            self._beats = {model: self._beats.get(model, 0) + 1 for model in tells}
            self._changed()

    async def _tell(self, words: bytes) -> Any:
        with asking_redis("frontends"):
            return await self._script(keys=[_HASH], args=[self.name, words])


Frontends = FixedFrontends | SharedFrontends


async def _prolong(lock: "Lock") -> None:
    with suppress(*REDIS_AWAY), asking_redis("locks"):
        await lock.reacquire()
