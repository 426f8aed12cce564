"""Where the library ``limits`` keeps its counts in a Redis. It finds the storage by its scheme."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from limits.aio.storage import RedisStorage

from frontend.access.storages import MINUTE, Window
from frontend.concurrency.background import forget_outcome, start_detached
from frontend.sharing.calls import redis_call

if TYPE_CHECKING:
    from redis.asyncio import Redis

# The key of a counter, and its limit.
Counter = tuple[str, int]

# The longest wait for Redis.
_TIMEOUT_SECONDS = 0.2
# KEYS are counters, ARGV their limits and the number of requests. It counts them in all of the counters or in none. All
# frontends use Redis's clock.
_TAKE = """
local now = redis.call('TIME')
local minute = math.floor(now[1] / 60)
local elapsed = math.max(1, (now[1] % 60) * 1000000 + now[2])
local answer, open, requests = {1, elapsed}, 1, tonumber(ARGV[#KEYS + 1])
for i, key in ipairs(KEYS) do
  local stored = redis.call('HMGET', key, 'minute', 'previous', 'current')
  local at, previous, current = tonumber(stored[1]), 0, 0
  if at == minute then
    previous, current = tonumber(stored[2]), tonumber(stored[3])
  elseif at == minute - 1 then
    previous = tonumber(stored[3])
  end
  local used = math.floor(previous * (60000000 - elapsed) / 60000000) + current
  if used + requests > tonumber(ARGV[i]) then open = 0 end
  answer[2 * i + 1], answer[2 * i + 2] = previous, current
end
answer[1] = open
for i, key in ipairs(KEYS) do
  if open == 1 then
    answer[2 * i + 2] = answer[2 * i + 2] + requests
    redis.call('HSET', key, 'minute', minute, 'previous', answer[2 * i + 1], 'current', answer[2 * i + 2])
    redis.call('EXPIRE', key, 130)
  end
end
return answer
"""
_TAKE_SHA = hashlib.sha1(_TAKE.encode(), usedforsecurity=False).hexdigest()


class RedisMinuteStorage(RedisStorage):
    """Counts in Redis, on the minute of its clock. A request counts under all of its keys or under none.

    Waiting requests share a pipeline, so that a burst needs one connection.
    """

    STORAGE_SCHEME = ["async+redis+minutes"]

    def __init__(self, uri: str, **options: Any) -> None:
        super().__init__(uri, implementation="redispy", key_prefix="quartet", **options)
        self._redis: Redis = cast(Any, self.bridge).get_connection()
        # The next batch, and the task that sends it after the current one.
        self._batch: list[tuple[Sequence[Counter], int]] = []
        self._sending: asyncio.Task[list[list[int]]] | None = None

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return (await self.acquire_together([(key, limit)], amount))[0]

    async def get_sliding_window(self, key: str, expiry: int) -> Window:
        # A limit of 0 lets nothing pass, so that nothing is counted.
        return (await self.acquire_together([(key, 0)]))[1][0]

    async def acquire_together(self, counters: Sequence[Counter], requests: int = 1) -> tuple[bool, list[Window]]:
        """Count ``requests`` in all counters if all have room; return whether they passed, and the windows.

        Raises ``OSError`` or ``TimeoutError`` if Redis does not answer.
        """
        number = len(self._batch)
        self._batch.append((counters, requests))
        if number == 0:
            self._sending = start_detached(self._send_after(self._sending))
            self._sending.add_done_callback(forget_outcome)
        assert self._sending is not None
        # A disconnect must not cancel the answer of other requests.
        passed, elapsed, *counts = (await asyncio.shield(self._sending))[number]
        left = MINUTE - elapsed / 1_000_000
        windows = [
            (previous, left, current, left + MINUTE)
            for _, previous, current in zip(counters, counts[::2], counts[1::2], strict=True)
        ]
        return bool(passed), windows

    async def _send_after(self, before: asyncio.Task[list[list[int]]] | None) -> list[list[int]]:
        """Send the batch after ``before``. If that fails, this fails too: its requests have waited long enough."""
        from redis.exceptions import NoScriptError

        try:
            if before is not None and not before.done():
                await before
        finally:
            batch, self._batch = self._batch, []
        with redis_call("limits"):
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                try:
                    return await self._run("EVALSHA", _TAKE_SHA, batch)
                except NoScriptError:
                    # Redis has started since. EVAL makes the script known to it.
                    return await self._run("EVAL", _TAKE, batch)

    async def _run(self, command: str, script: str, batch: Sequence[tuple[Sequence[Counter], int]]) -> list[list[int]]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for counters, requests in batch:
                keys = [self.bridge.prefixed_key(key) for key, _ in counters]
                limits = (limit for _, limit in counters)
                pipeline.execute_command(command, script, len(keys), *keys, *limits, requests)
            return cast(list[list[int]], await pipeline.execute())
