"""Looks from time to time at the keys of open requests, once for all requests of a key."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from frontend.access.caller import Identifies
from frontend.concurrency.background import start_detached
from frontend.errors import ApiError, Unauthorized

# Seconds between two looks at a key, which need no query of the database.
_LOOK_SECONDS = 2.0
# Called with the reason for which a key is no longer known.
End = Callable[[Unauthorized], None]


class OpenKeys:
    """The keys of open requests."""

    def __init__(self, keys: Identifies) -> None:
        self._keys = keys
        self._of: dict[str, _Watch] = {}

    @contextmanager
    def open(self, key: str, end: End) -> Iterator[None]:
        """Within the block, call ``end`` soon after ``key`` is revoked."""
        if (watch := self._of.get(key)) is None:
            watch = self._of[key] = _Watch(self._keys, key)
        watch.ends.add(end)
        try:
            yield
        finally:
            watch.ends.discard(end)
            if not watch.ends:
                watch.stop()
                if self._of.get(key) is watch:
                    del self._of[key]


class _Watch:
    """Looks at one key."""

    def __init__(self, keys: Identifies, key: str) -> None:
        self._keys, self._key = keys, key
        self.ends: set[End] = set()
        self._looking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()
        # They refer to this object, and reference cycles make garbage collection longer.
        self._timer = self._looking = None

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = start_detached(self._check())

    async def _check(self) -> None:
        try:
            await self._keys.identify(self._key)
        except Unauthorized as failure:
            revoked = failure.with_traceback(None)
            while self.ends:
                self.ends.pop()(revoked)
                # A key may have thousands of requests open.
                await asyncio.sleep(0)
        except ApiError:
            # The database is away: keys that were known work on.
            pass
        self._wait()
