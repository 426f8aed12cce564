"""A clock of rate limits that only tests move, in this process and in Redis; and an event loop with virtual time."""

import asyncio
import hashlib
import importlib
import importlib.util
import selectors
from types import SimpleNamespace
from typing import Any

from frontend.access import storages

_STORAGES: Any = storages
# Tests of the core alone have no Redis.
_HAS_REDIS = importlib.util.find_spec("frontend.sharing") is not None
_SHARED: Any = importlib.import_module("frontend.sharing.storage") if _HAS_REDIS else None
_REDIS_TIME = "redis.call('TIME')"
_TAKE = _SHARED._TAKE if _HAS_REDIS else _REDIS_TIME


class LimitsClock:
    """``now`` is in seconds since 1970, just after the start of a minute."""

    def __init__(self) -> None:
        assert _REDIS_TIME in _TAKE
        self._time = _STORAGES.time
        _STORAGES.time = SimpleNamespace(time=lambda: self.now)
        self.move_to(1_000_000_020.001)

    def move_to(self, now: float) -> None:
        self.now = now
        seconds, microseconds = divmod(round(now * 1_000_000), 1_000_000)
        _use_script(_TAKE.replace(_REDIS_TIME, f"{{'{seconds}', '{microseconds}'}}"))

    def close(self) -> None:
        """Use the machine's clock again."""
        _STORAGES.time = self._time
        _use_script(_TAKE)


def _use_script(text: str) -> None:
    if _HAS_REDIS:
        _SHARED._TAKE, _SHARED._TAKE_SHA = text, hashlib.sha1(text.encode()).hexdigest()


class _Selector(selectors.DefaultSelector):
    """Waits only while ``asked`` answers of other processes are missing; ``now`` is in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.asked = 1_000_000.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.asked or timeout is None:
            return super().select(None if timeout != 0 else 0)
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock jumps to the next timer if nothing is ready, and stops while another process has to answer."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def asks(self, count: int) -> None:
        """Change the number of awaited answers by ``count``."""
        self._virtual.asked += count
