"""Through Redis, frontends on the same Tritons exchange the models that they use, and locks to reload dead models."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import orjson

from frontend.concurrency.background import Repeating
from frontend.peers.frontends import Share, Snapshot
from frontend.sharing.calls import REDIS_AWAY, redis_call

if TYPE_CHECKING:
    from redis.asyncio.lock import Lock

_HASH, _LOCK = "quartet:dispatch", "quartet:lock"
# The timeout of Redis, and the pause between heartbeats.
_PATIENCE_SECONDS = 0.5
_BEAT_SECONDS = 0.5
# Heartbeats until all others have received a value; each of them may be late.
_HEARD_BEATS = 3
# A frontend without a heartbeat for two seconds is dead. The others use its share within three.
_PUBLISH = """
local time = redis.call('TIME')
local now, living = time[1] + time[2] / 1000000, {}
if ARGV[2] == '' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f', now) .. ' ' .. ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local at, snapshot = string.match(all[i + 1], '^(%S+) (.*)$')
    local seconds = tonumber(at)
    if not seconds or not (math.abs(now - seconds) <= 2) then
        redis.call('HDEL', KEYS[1], all[i])
    else
        table.insert(living, all[i])
        table.insert(living, snapshot)
    end
end
return living
"""
# The lock of a killed frontend ends after this time.
_LEASE_SECONDS = 10.0
# While Redis is away, they go one after the other, with these seconds for each.
_TURN_SECONDS = 5.0


class SharedFrontends:
    """Frontends that exchange their snapshots through Redis, twice per second.

    ``changed`` is called after each heartbeat. The frontends that use a model have equal shares of it. All frontends
    share an unused model, for bulk work. A frontend that starts to use a model has one call in flight until the others
    know, so that shares never overlap. While Redis is away, the last shares stay; a frontend without any takes all.
    """

    def __init__(self, url: str, snapshot: Callable[[], Snapshot], changed: Callable[[], None]) -> None:
        # The import takes long, and most frontends have no Redis.
        from redis.asyncio import Redis

        # Without ``driver_info``, each new connection looks up the version of redis-py on the disk and tells it.
        self.redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS, driver_info=None
        )
        self._script = self.redis.register_script(_PUBLISH)
        self.name = uuid.uuid4().hex
        self._snapshot, self._changed = snapshot, changed
        # The last snapshots by frontend; this frontend's heartbeats in a row, by model and in all.
        self._snapshots: Mapping[str, Snapshot] = {}
        self._beats: dict[str, int] = {}
        self._alive = 0
        # Whether the last heartbeat failed, and heartbeats for which other frontends may be missing after an outage.
        self._failed, self._incomplete_beats = False, 0
        self._repeating = Repeating(_BEAT_SECONDS, self.beat)

    async def start(self) -> None:
        """Send a heartbeat, then more in the background."""
        await self.beat()
        self._repeating.start()

    async def close(self) -> None:
        """Stop, and release this frontend's shares."""
        await self._repeating.close()
        with suppress(*REDIS_AWAY):
            await self._publish(b"")
        await self.redis.aclose()

    @property
    def count(self) -> int:
        """The number of frontends at the last heartbeat, at least 1."""
        return max(1, len(self._snapshots))

    @property
    def _rank(self) -> float:
        """This frontend's rank, from 0, among those of the last heartbeat; a random one if it had none."""
        names = sorted(self._snapshots)
        return names.index(self.name) if self.name in names else random.random()

    def share_of(self, model: str) -> Share:
        """This frontend's share of a model at the last heartbeat."""
        names = sorted(self._snapshots)
        if self.name not in names or (len(names) < 2 and not self._incomplete_beats):
            return Share()
        users = [name for name in names if model in self._snapshots[name]]
        others = [name for name in users if name != self.name]
        fraction = 0.0
        if self._beats.get(model, 0) >= _HEARD_BEATS:
            fraction = 1 / (len(others) + 1)
        elif not others and self._alive >= _HEARD_BEATS:
            fraction = 1 / len(names)
        measured = [name for name in users if self._snapshots[name][model]]
        batch = self._snapshots[measured[0]][model] if measured and measured[0] != self.name else None
        return Share(fraction, names.index(self.name), len(names), bool(others), batch)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[bool]:
        """Yield whether this frontend has the lock. While Redis is away, wait for one's turn and yield True."""
        lock = self.redis.lock(f"{_LOCK}:{name}", timeout=_LEASE_SECONDS)
        try:
            with redis_call("locks"):
                has_lock = bool(await lock.acquire(blocking=False))
        except REDIS_AWAY:
            # One that comes later finds the work of another done.
            await asyncio.sleep(_TURN_SECONDS * self._rank)
            yield True
            return
        if not has_lock:
            yield False
            return
        keeping = Repeating(_LEASE_SECONDS / 3, lambda: _prolong(lock))
        keeping.start()
        try:
            yield True
        finally:
            await keeping.close()
            with suppress(*REDIS_AWAY), redis_call("locks"):
                await lock.release()

    async def beat(self) -> None:
        """Publish this frontend's snapshot and read the others'."""
        own = self._snapshot()
        try:
            living = await self._publish(orjson.dumps(own))
        except REDIS_AWAY:
            self._failed = True
        else:
            if self._failed:
                # At first only some frontends are back. Shares among these alone would be too large.
                self._failed, self._incomplete_beats, self._alive, self._beats = False, _HEARD_BEATS + 1, 0, {}
            self._incomplete_beats = max(0, self._incomplete_beats - 1)
            found = {name: _snapshot_of(text) for name, text in zip(living[::2], living[1::2], strict=True)}
            self._snapshots = {name.decode(): each for name, each in found.items() if each is not None}
            self._alive += 1
            self._beats = {model: self._beats.get(model, 0) + 1 for model in own}
            self._changed()

    async def _publish(self, snapshot: bytes) -> Any:
        with redis_call("frontends"):
            return await self._script(keys=[_HASH], args=[self.name, snapshot])


def _snapshot_of(text: bytes) -> Snapshot | None:
    """The content of a heartbeat; None for what no frontend writes, since others may reach Redis too."""
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and all(isinstance(work, int | float) for work in value.values()) else None


async def _prolong(lock: "Lock") -> None:
    with suppress(*REDIS_AWAY), redis_call("locks"):
        await lock.reacquire()
