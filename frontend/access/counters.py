"""Request counters for rate limits, in this process or in a shared Redis."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from frontend.access.windows import Count
from frontend.concurrency.background import forget_outcome, start_detached
from frontend.observe.stores import redis_call

if TYPE_CHECKING:
    from redis.asyncio import Redis

# The longest wait for Redis.
_TIMEOUT_SECONDS = 0.2


@dataclass(frozen=True)
class Limit:
    """``amount`` requests per minute for ``key``: ("embeddings", "4f1c...") or ("org", "acme").

    An ``amount`` of 0 reads the counter without counting.
    """

    amount: int
    key: tuple[str, str]


Taken = tuple[bool, list[Count]]

# KEYS are counters, ARGV their limits. It increments all of them or none. All frontends use Redis's clock.
_TAKE = """
local now = redis.call('TIME')
local minute = math.floor(now[1] / 60)
local elapsed = math.max(1, (now[1] % 60) * 1000000 + now[2])
local answer, open = {1, elapsed}, true
for i, key in ipairs(KEYS) do
  local stored = redis.call('HMGET', key, 'minute', 'previous', 'current')
  local at, previous, current = tonumber(stored[1]), 0, 0
  if at == minute then
    previous, current = tonumber(stored[2]), tonumber(stored[3])
  elseif at == minute - 1 then
    previous = tonumber(stored[3])
  end
  local used = math.floor(previous * (60000000 - elapsed) / 60000000) + current
  if used >= tonumber(ARGV[i]) then open = false end
  answer[#answer + 1] = previous
  answer[#answer + 1] = current
end
if not open then
  answer[1] = 0
  return answer
end
for i, key in ipairs(KEYS) do
  local previous, current = answer[2 * i + 1], answer[2 * i + 2]
  redis.call('HSET', key, 'minute', minute, 'previous', previous, 'current', current + 1)
  redis.call('EXPIRE', key, 130)
end
return answer
"""


class MemoryCounters:
    """Counters of one frontend; ``clock`` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minute = 0
        # The counts of the last minute are replaced as a whole, so no cleanup is needed.
        self._previous: dict[tuple[str, str], int] = {}
        self._current: dict[tuple[str, str], int] = {}

    async def take(self, limits: Sequence[Limit]) -> Taken:
        """Count one request under every limit if all are open; return whether it passed, and the counts."""
        minute, rest = divmod(self._clock(), 60.0)
        if minute != self._minute:
            self._previous = self._current if minute == self._minute + 1 else {}
            self._current, self._minute = {}, int(minute)
        elapsed = max(1, int(rest * 1_000_000))
        counts = [
            Count(limit.amount, self._previous.get(limit.key, 0), self._current.get(limit.key, 0), elapsed)
            for limit in limits
        ]
        if not all(count.open for count in counts):
            return False, counts
        for limit in limits:
            self._current[limit.key] = self._current.get(limit.key, 0) + 1
        return True, [count.plus_one() for count in counts]


class RedisCounters:
    """Counters in Redis. Waiting requests share a pipeline, so that a burst needs one connection."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        # The next batch, and the task that sends it after the current one.
        self._batch: list[Sequence[Limit]] = []
        self._sending: asyncio.Task[list[list[int]]] | None = None

    async def take(self, limits: Sequence[Limit]) -> Taken:
        """As ``MemoryCounters.take``. Raises ``OSError`` or ``TimeoutError`` if Redis does not answer."""
        place = len(self._batch)
        self._batch.append(limits)
        if place == 0:
            self._sending = start_detached(self._send_after(self._sending))
            self._sending.add_done_callback(forget_outcome)
        assert self._sending is not None
        # A disconnect must not cancel the answer of other requests.
        passed, elapsed, *pairs = (await asyncio.shield(self._sending))[place]
        read = zip(limits, pairs[::2], pairs[1::2], strict=True)
        counts = [Count(limit.amount, previous, current, elapsed) for limit, previous, current in read]
        return bool(passed), [count.plus_one() for count in counts] if passed else counts

    async def _send_after(self, before: asyncio.Task[list[list[int]]] | None) -> list[list[int]]:
        """Send the batch after ``before``. If that fails, this fails too: its requests have waited long enough."""
        try:
            if before is not None and not before.done():
                await before
        finally:
            batch, self._batch = self._batch, []
        with redis_call("limits"):
            async with asyncio.timeout(_TIMEOUT_SECONDS), self._redis.pipeline(transaction=False) as pipeline:
                for limits in batch:
                    # One tag for all counters of a call keeps them on one node of a cluster.
                    keys = [f"quartet:{{{limits[-1].key[1]}}}:{limit.key[0]}:{limit.key[1]}" for limit in limits]
                    pipeline.eval(_TAKE, len(keys), *keys, *(limit.amount for limit in limits))
                return cast(list[list[int]], await pipeline.execute())
