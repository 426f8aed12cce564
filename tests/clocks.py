"""A clock of the limits that stands until a test moves it, in this process and in Redis: no minute ends by itself."""

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
        """The machine's clock from here on."""
        MemoryCounters.__init__.__defaults__ = self._defaults
        counters._TAKE = _TAKE
