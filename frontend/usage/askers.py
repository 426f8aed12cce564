"""Who adds up usage now: few at once, and of each asker one, so that nobody stands behind all that another wants."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from frontend.errors import RateLimited

# Who looks at sums may take long, and charges and wallets need a connection meanwhile.
_AT_ONCE = 2
# A page asks for a few sums side by side.
_MOST_OF_ONE = 8


class Askers:
    """Lets askers in by turns."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._lines: dict[str, asyncio.Lock] = {}
        self._asked: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, asker: str) -> AsyncIterator[None]:
        """Wait in turn, and hold a place within the block; ``RateLimited`` where too many of an asker wait."""
        if self._asked[asker] >= _MOST_OF_ONE:
            raise RateLimited("too many reports at once for this key, retry later", headers={"Retry-After": "1"})
        self._asked[asker] += 1
        try:
            # One that waits for its own line has no place among those who wait for all.
            async with self._lines.setdefault(asker, asyncio.Lock()), self._places:
                yield
        finally:
            self._asked[asker] -= 1
            if not self._asked[asker]:
                del self._asked[asker], self._lines[asker]
