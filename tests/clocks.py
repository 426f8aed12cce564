"""A clock of the rate limits that stands until a test moves it, in this process and in Redis.

And an event loop whose time passes only while nobody works.
"""

import asyncio
import selectors

from frontend.access import counters
from frontend.access.counters import MemoryCounters

_OF_REDIS = "redis.call('TIME')"
_TAKE = counters._TAKE


class LimitsClock:
    """``now`` is in seconds since 1970; a minute has begun a moment ago."""

    def __init__(self) -> None:
        assert _OF_REDIS in _TAKE
        self._defaults = MemoryCounters.__init__.__defaults__
        MemoryCounters.__init__.__defaults__ = (lambda: self.now,)
        self.move_to(1_000_000_020.001)

    def move_to(self, now: float) -> None:
        self.now = now
        seconds, microseconds = divmod(round(now * 1_000_000), 1_000_000)
        counters._TAKE = _TAKE.replace(_OF_REDIS, f"{{'{seconds}', '{microseconds}'}}")

    def close(self) -> None:
        """Use the machine's clock again."""
        MemoryCounters.__init__.__defaults__ = self._defaults
        counters._TAKE = _TAKE


class _Selector(selectors.DefaultSelector):
    """Waits for nothing but what is ``asked`` of others; ``now`` is in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.asked = 1_000_000.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.asked or timeout is None:
            return super().select(None if timeout != 0 else 0)
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock goes on as soon as there is nothing to do, and stands while an answer is awaited from outside."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def asks(self, count: int) -> None:
        """Change the number of awaited answers by ``count``."""
        self._virtual.asked += count
