"""Where the library ``limits`` keeps its counts: in this process. It finds the storage by its scheme."""

import time
from typing import Any

from limits.aio.storage import MemoryStorage

# The library's window: requests of the last minute, seconds until they count no more, and the same of this minute.
Window = tuple[int, float, int, float]
# In seconds.
MINUTE = 60


class MinuteStorage(MemoryStorage):
    """The counts of this minute and the last in two dictionaries, which change places each minute.

    The library's own storage looks through all its keys after each request, to forget the old ones.
    """

    STORAGE_SCHEME = ["async+minutes"]

    def __init__(self, uri: str | None = None, **options: Any) -> None:
        super().__init__(uri, **options)
        self._minute = 0
        self._previous: dict[str, int] = {}
        self._current: dict[str, int] = {}

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        previous, left, current, _ = await self.get_sliding_window(key, expiry)
        if int(previous * left / MINUTE) + current + amount > limit:
            return False
        self._current[key] = current + amount
        return True

    async def get_sliding_window(self, key: str, expiry: int) -> Window:
        minute, elapsed = divmod(time.time(), MINUTE)
        if minute != self._minute:
            self._previous = self._current if minute == self._minute + 1 else {}
            self._current, self._minute = {}, int(minute)
        left = MINUTE - elapsed
        return self._previous.get(key, 0), left, self._current.get(key, 0), left + MINUTE
