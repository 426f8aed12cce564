"""One frontend at a time: locks that several frontends share."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from frontend.observe.stores import REDIS_AWAY, asking_redis
from frontend.processes.background import Repeating

if TYPE_CHECKING:
    from redis.asyncio.lock import Lock

_PREFIX = "quartet:lock"
_PATIENCE_SECONDS = 0.5
# A holder that is killed keeps the others away for so long.
_LEASE_SECONDS = 10.0


class LocalLocks:
    """Where frontends cannot hear of each other: each waits for a random part of ``seconds`` and goes on."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[bool]:
        """This frontend may always, after its pause."""
        await asyncio.sleep(random.random() * self._seconds)
        yield True


class SharedLocks:
    """Locks in Redis that expire soon after their holder has died; while Redis is away, each frontend may."""

    def __init__(self, url: str) -> None:
        # Long to import, and most frontends have no Redis.
        from redis.asyncio import Redis

        self._redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[bool]:
        """Whether the lock is this frontend's and no other's; it is kept for as long as this takes."""
        lock = self._redis.lock(f"{_PREFIX}:{name}", timeout=_LEASE_SECONDS)
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

    async def close(self) -> None:
        await self._redis.aclose()


Locks = LocalLocks | SharedLocks


async def _prolong(lock: "Lock") -> None:
    with suppress(*REDIS_AWAY), asking_redis("locks"):
        await lock.reacquire()
