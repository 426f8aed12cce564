"""What frontends tell each other once a second in Redis, so that all divide the same slots in the same way.

Time is cut into beats by Redis's clock. What is divided in a beat is what had been told when it began: a script reads
and writes in one step, so that all frontends read the same, whenever in the beat they do.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from frontend.observe.stores import asking_redis

_HASH = "quartet:shares"
_PATIENCE_SECONDS = 0.5
# A beat takes a second. A frontend that has told nothing for three is dead.
_TELL = """
local time = redis.call('TIME')
local beat, dead = tonumber(time[1]), 3
local function parts(value)
    local at, length, texts = string.match(value, '^(%d+) (%d+) (.*)$')
    return tonumber(at), string.sub(texts, 1, length), string.sub(texts, length + 1)
end
local told, others, before = {}, 0, ''
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local at, last, earlier = parts(all[i + 1])
    if at < beat - dead then
        if at < beat - 2 * dead then redis.call('HDEL', KEYS[1], all[i]) end
    else
        local closed = last
        if at == beat then closed = earlier end
        if closed ~= '' then
            table.insert(told, '"' .. all[i] .. '":' .. closed)
        end
        if all[i] == ARGV[1] then before = closed
        elseif last ~= '' then others = others + 1 end
    end
end
redis.call('HSET', KEYS[1], ARGV[1], beat .. ' ' .. #ARGV[2] .. ' ' .. ARGV[2] .. before)
return {beat, tonumber(time[2]), others, '{' .. table.concat(told, ',') .. '}'}
"""


@dataclass(frozen=True)
class Told:
    """What frontends had told when the beat ``number`` began, by name, and how many others there are by now.

    The beat has gone on for ``seconds``.
    """

    number: int
    seconds: float
    others: int
    words: Mapping[str, Any]


class Heartbeat:
    """The place in Redis where each frontend tells under its own name."""

    def __init__(self, url: str, name: str) -> None:
        # Long to import, and most frontends have no Redis.
        from redis.asyncio import Redis

        self._redis: Redis = Redis.from_url(
            url, socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )
        self._name = name
        self._script = self._redis.register_script(_TELL)

    async def tell(self, words: Any) -> Told:
        """Write what this frontend says, and read what all had said; ``REDIS_AWAY`` errors where that fails.

        Who says None is counted no more from the next beat on.
        """
        text = orjson.dumps(words) if words is not None else b""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        with asking_redis("shares"):
            number, microseconds, others, told = await self._script(keys=[_HASH], args=[self._name, text])
        # Redis looked at its clock about half way.
        seconds = microseconds / 1e6 + (loop.time() - asked) / 2
        return Told(number, seconds, others, orjson.loads(told))

    async def close(self) -> None:
        await self._redis.aclose()
