"""Ends what a key has open when it is revoked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from frontend.access.caller import Identifies
from frontend.concurrency.background import start_detached
from frontend.errors import ApiError, Unauthorized
from frontend.http.connection import ON_REVOKED, break_off

# Seconds between two looks at the key of a request, which need no query of the database.
_LOOK_SECONDS = 2.0


@asynccontextmanager
async def ended_with_key(request: web.Request, keys: Identifies, token: str) -> AsyncIterator[None]:
    """End the request in the block soon after its key is revoked.

    Before an answer has begun, it raises ``Unauthorized``. One that has begun breaks off: its caller has hung up. What
    has an end of its own (``ON_REVOKED``) is told.
    """
    watch, deadline = _Watch(request, keys, token), asyncio.timeout(None)
    try:
        async with deadline:
            watch.start(lambda: deadline.reschedule(0.0))
            yield
    except TimeoutError:
        if watch.failure is not None and deadline.expired():
            raise watch.failure from None
        raise
    finally:
        watch.stop()


class _Watch:
    """Looks at the key from time to time. ``failure`` is why it is no longer known."""

    def __init__(self, request: web.Request, keys: Identifies, token: str) -> None:
        self._request, self._keys, self._token = request, keys, token
        self.failure: Unauthorized | None = None
        self._refuse: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def start(self, refuse: Callable[[], None]) -> None:
        self._refuse = refuse
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def stop(self) -> None:
        # All refer to the request, and reference cycles make garbage collection longer.
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()
        self._refuse = self._timer = self._looking = None

    def _look(self) -> None:
        self._looking = start_detached(self._check())

    async def _check(self) -> None:
        try:
            await self._keys.identify(self._token)
        except Unauthorized as failure:
            self.failure = failure.with_traceback(None)
            self._end(self.failure)
            return
        except ApiError:
            # The database is away: keys that were known work on.
            pass
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _end(self, failure: Unauthorized) -> None:
        if (end := self._request.get(ON_REVOKED)) is not None:
            end(failure)
        elif self._request.writer.output_size:
            break_off(self._request, failed=False)
        elif self._refuse is not None:
            self._refuse()
