"""A cache of API keys. A revoked key stops working within seconds."""

import asyncio
import time
from dataclasses import dataclass

from frontend.access import api_key
from frontend.access.caller import Caller, refuse
from frontend.access.registry import Registry
from frontend.database.engine import DATABASE_FAILURES
from frontend.errors import BadGateway
from frontend.observe.logs import Outage
from frontend.processes.background import Repeating, cancel_all, forget_outcome, start_detached

# Seconds between two queries of all cached keys. A revoked key works at most for this time plus a query.
_REFRESH_SECONDS = 1.5
# Seconds without use after which a key leaves the cache.
_IDLE_SECONDS = 600.0
# Seconds between two updates of the times at which keys were last used.
_WRITE_SECONDS = 60.0
# Timeouts of a caller's query and of a refresh, which is soon repeated anyway.
_LOOKUP_SECONDS, _REREAD_SECONDS = 5.0, 2.0
# Keys per query.
_BATCH = 500
_WRONG = "the API key is missing, invalid or revoked"


@dataclass
class _Known:
    caller: Caller
    used: float


class KnownKeys:
    """The recently used keys. While the database is away, these still work, and others get 502."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, _Known] = {}
        self._lookups: dict[str, asyncio.Task[_Known]] = {}
        self._used: set[str] = set()
        self._outage = Outage("the database of keys is away", "the database of keys is back")
        self._refreshing = Repeating(_REFRESH_SECONDS, self._refresh)
        self._writing = Repeating(_WRITE_SECONDS, self._write_used)

    def start(self) -> None:
        """Begin to refresh and to write times of use. Call this in the event loop."""
        self._refreshing.start()
        self._writing.start()

    async def close(self) -> None:
        await self._refreshing.close()
        await self._writing.finish()
        if not self._outage.away:
            await self._write_used()
        await cancel_all(list(self._lookups.values()))

    async def identify(self, key: str) -> Caller:
        """The caller of a key. Raises ``Unauthorized`` (401) if it is unknown, expired or revoked."""
        if not api_key.well_formed(key):
            raise refuse(_WRONG)
        digest = api_key.digest(key)
        known = self._known.get(digest) or await self._look_up_once(digest)
        known.used = time.monotonic()
        if known.caller.expires_at is not None and known.caller.expires_at <= time.time():
            raise refuse(_WRONG)
        self._used.add(digest)
        return known.caller

    async def _look_up_once(self, digest: str) -> _Known:
        """Requests with the same new key share one query."""
        lookup = self._lookups.get(digest)
        if lookup is None:
            lookup = self._lookups[digest] = start_detached(self._look_up(digest))
            lookup.add_done_callback(lambda task: self._lookups.pop(digest))
            lookup.add_done_callback(forget_outcome)
        # A disconnect must not cancel the query of other requests.
        return await asyncio.shield(lookup)

    async def _look_up(self, digest: str) -> _Known:
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                callers = await self._registry.find([digest])
        except DATABASE_FAILURES as error:
            self._outage.note(error)
            raise BadGateway("API keys cannot be checked for the moment, retry with backoff") from None
        if digest not in callers:
            raise refuse(_WRONG)
        return self._known.setdefault(digest, _Known(callers[digest], time.monotonic()))

    async def _refresh(self) -> None:
        oldest = time.monotonic() - _IDLE_SECONDS
        for digest in [digest for digest, known in self._known.items() if known.used < oldest]:
            del self._known[digest]
        with self._outage.noting(DATABASE_FAILURES):
            digests = list(self._known)
            async with asyncio.timeout(_REREAD_SECONDS):
                for start in range(0, len(digests), _BATCH):
                    batch = digests[start : start + _BATCH]
                    callers = await self._registry.find(batch)
                    for digest in batch:
                        if digest in callers:
                            self._known[digest].caller = callers[digest]
                        else:
                            del self._known[digest]

    async def _write_used(self) -> None:
        used, self._used = list(self._used), set()
        try:
            for start in range(0, len(used), _BATCH):
                await self._registry.note_used(used[start : start + _BATCH])
        except DATABASE_FAILURES:
            # The refresh logs the outage. The next update tries again.
            self._used.update(used)
