"""Where requests are counted: in this process, or in a Redis that all frontends share."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import RedisStorage

from frontend.access.windows import Count
from frontend.observe.stores import asking_redis
from frontend.processes.background import start_apart

PREFIX = "quartet"
# A limit and whom it holds for: ("embeddings", "4f1c...") or ("org", "acme").
Limit = tuple[RateLimitItem, tuple[str, str]]
Taken = tuple[bool, list[Count]]
_Waiting = list[tuple[Sequence[Limit], asyncio.Future[Taken]]]
_Answer = TypeVar("_Answer")
_TICK_SECONDS = 0.05
_TICKS = 4

# KEYS: counters. ARGV: their limits. All of them are counted up, or none; Redis's clock is the clock of all frontends.
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
    """Counts in this process, and so for one frontend on its own; ``clock`` answers seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minute = 0
        # A minute that ends hands its counts over whole, so that nothing has to be swept.
        self._previous: dict[tuple[str, str], int] = {}
        self._current: dict[tuple[str, str], int] = {}

    async def look(self, limits: Sequence[Limit]) -> list[Count]:
        """The counts as they are."""
        minute, rest = divmod(self._clock(), 60.0)
        self._turn(int(minute))
        elapsed = max(1, int(rest * 1_000_000))
        return [
            Count(item.amount, self._previous.get(key, 0), self._current.get(key, 0), elapsed) for item, key in limits
        ]

    async def take(self, limits: Sequence[Limit]) -> Taken:
        """Count one request under every limit if all are open, and answer the counts as they are then."""
        # This never gives up the loop: between a look and a count nobody else may be counted.
        counts = await self.look(limits)
        if not all(count.open for count in counts):
            return False, counts
        for _, key in limits:
            self._current[key] = self._current.get(key, 0) + 1
        return True, [count.plus_one() for count in counts]

    def _turn(self, minute: int) -> None:
        if minute != self._minute:
            self._previous = self._current if minute == self._minute + 1 else {}
            self._current = {}
            self._minute = minute


class RedisCounters:
    """Counts in Redis. Requests that wait together go as one pipeline, so that a burst needs one connection."""

    def __init__(self, url: str) -> None:
        self._storage = RedisStorage(
            f"async+{url}", implementation="redispy", socket_connect_timeout=1, socket_timeout=1
        )
        self.redis = cast(Any, self._storage.bridge).get_connection()
        self._waiting: _Waiting = []
        self._sender: asyncio.Task[None] | None = None

    async def take(self, limits: Sequence[Limit]) -> Taken:
        """As in memory; raises ``OSError`` or ``TimeoutError`` where Redis does not answer."""
        future: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        self._waiting.append((limits, future))
        if self._sender is None:
            self._sender = start_apart(self._send_all())
        return await future

    async def look(self, limits: Sequence[Limit]) -> list[Count]:
        """The counts as they are: under a limit of nothing, nothing is counted."""
        _, counts = await self.take([(RateLimitItemPerMinute(0), key) for _, key in limits])
        return [replace(count, limit=item.amount) for count, (item, _) in zip(counts, limits, strict=True)]

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._answer(batch)
        finally:
            self._sender = None

    async def _answer(self, batch: _Waiting) -> None:
        """Tell those who wait what Redis says, or what went wrong: whatever happens, nobody is left waiting."""
        try:
            with asking_redis("limits"):
                answers = await within_ticks(self._send([limits for limits, _ in batch]))
            taken = [_taken(limits, answer) for (limits, _), answer in zip(batch, answers, strict=True)]
        except BaseException as error:
            # Those who came meanwhile have waited too: a further try would make them wait twice.
            late, self._waiting = self._waiting, []
            told = error if isinstance(error, Exception) else ConnectionError("Redis was not asked to the end")
            for _, future in batch + late:
                if not future.done():
                    future.set_exception(told)
            if told is not error:
                raise
            return
        for (_, future), outcome in zip(batch, taken, strict=True):
            if not future.done():
                future.set_result(outcome)

    async def _send(self, batch: list[Sequence[Limit]]) -> list[list[int]]:
        async with self.redis.pipeline(transaction=False) as pipeline:
            for limits in batch:
                # One tag for all counters of a call keeps them on one node of a cluster.
                tag = limits[-1][1][1]
                keys = [f"{PREFIX}:{{{tag}}}:{name}:{owner}" for _, (name, owner) in limits]
                pipeline.eval(_TAKE, len(keys), *keys, *(item.amount for item, _ in limits))
            return cast(list[list[int]], await pipeline.execute())

    async def close(self) -> None:
        await self.redis.aclose()


def _taken(limits: Sequence[Limit], answer: list[int]) -> Taken:
    passed, elapsed, *pairs = answer
    counts = [
        Count(item.amount, previous, current, elapsed)
        for (item, _), previous, current in zip(limits, pairs[::2], pairs[1::2], strict=True)
    ]
    return bool(passed), [count.plus_one() for count in counts] if passed else counts


async def within_ticks(call: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Await a call for 0.2 s, counted in ticks of the event loop: a loop that was busy itself is no slow Redis."""
    task = asyncio.ensure_future(call)
    try:
        for _ in range(_TICKS):
            await asyncio.wait({task}, timeout=_TICK_SECONDS)
            if task.done():
                return task.result()
    finally:
        task.cancel()
    raise TimeoutError("Redis did not answer in time")
