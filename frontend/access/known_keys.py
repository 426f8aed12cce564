"""Knows API keys without asking the database at each request, and forgets a revoked one within seconds."""

import asyncio
import time
from dataclasses import dataclass

from frontend.access import api_key
from frontend.access.caller import Caller, refuse
from frontend.access.registry import Registry
from frontend.database.engine import DATABASE_FAILURES
from frontend.errors import BadGateway
from frontend.observe.logs import Outage
from frontend.processes.background import Repeating, cancel_all, forget_outcome, start_apart

# One query reads every key that is in use again, this often; a revoked one ends within this and the query's time.
_REFRESH_SECONDS = 1.5
_IDLE_SECONDS = 600.0
# That a key is used is told to the database beside the requests.
_TELL_SECONDS = 60.0
# A caller waits for a busy database rather than be told that it is away; what has been revoked waits for none.
_LOOKUP_SECONDS, _REREAD_SECONDS = 5.0, 2.0
_MOST_AT_ONCE = 500
_WRONG = "the API key is missing, invalid or revoked"


@dataclass
class _Known:
    caller: Caller
    used: float


class KnownKeys:
    """The keys that were used lately. While the database is away those go on working, and others get 502."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Task[_Known]] = {}
        self._used: set[str] = set()
        self._outage = Outage("the database of keys is away", "the database of keys is back")
        self._refreshing = Repeating(_REFRESH_SECONDS, self._refresh)
        self._telling = Repeating(_TELL_SECONDS, self._tell_used)

    def start(self) -> None:
        """Begin to refresh, and to tell what is used; within the event loop."""
        self._refreshing.start()
        self._telling.start()

    async def close(self) -> None:
        await self._refreshing.close()
        await self._telling.finish()
        if not self._outage.away:
            await self._tell_used()
        await cancel_all(list(self._asking.values()))

    async def identify(self, key: str) -> Caller:
        """The caller behind a key; 401 for one that is unknown, expired or revoked."""
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
        """A burst of requests with a key that nobody has used yet is one question."""
        asking = self._asking.get(digest)
        if asking is None:
            asking = self._asking[digest] = start_apart(self._look_up(digest))
            asking.add_done_callback(lambda task: self._asking.pop(digest))
            asking.add_done_callback(forget_outcome)
        # Whoever hangs up must not take the answer from the others.
        return await asyncio.shield(asking)

    async def _look_up(self, digest: str) -> _Known:
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                found = await self._registry.find([digest])
        except DATABASE_FAILURES as error:
            self._outage.note(error)
            raise BadGateway("API keys cannot be checked for the moment, retry with backoff") from None
        if digest not in found:
            raise refuse(_WRONG)
        return self._known.setdefault(digest, _Known(found[digest], time.monotonic()))

    async def _refresh(self) -> None:
        oldest = time.monotonic() - _IDLE_SECONDS
        for digest in [digest for digest, known in self._known.items() if known.used < oldest]:
            del self._known[digest]
        with self._outage.noting(DATABASE_FAILURES):
            async with asyncio.timeout(_REREAD_SECONDS):
                await self._read_again(list(self._known))

    async def _tell_used(self) -> None:
        used, self._used = list(self._used), set()
        try:
            for start in range(0, len(used), _MOST_AT_ONCE):
                await self._registry.note_used(used[start : start + _MOST_AT_ONCE])
        except DATABASE_FAILURES:
            # What is refreshed every second tells of the outage; these are told the next time.
            self._used.update(used)

    async def _read_again(self, digests: list[str]) -> None:
        for start in range(0, len(digests), _MOST_AT_ONCE):
            some = digests[start : start + _MOST_AT_ONCE]
            found = await self._registry.find(some)
            for digest in some:
                if digest in found:
                    self._known[digest].caller = found[digest]
                else:
                    del self._known[digest]
