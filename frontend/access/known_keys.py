"""A cache of API keys. A revoked key stops working within seconds."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from frontend.access import api_key
from frontend.access.caller import Caller, refuse
from frontend.access.change_log import Change, ChangeLog
from frontend.access.stored_keys import StoredKeys
from frontend.concurrency.background import Repeating, cancel_all, forget_outcome, start_detached
from frontend.database.engine import DATABASE_FAILURES
from frontend.errors import BadGateway
from frontend.observe.logs import Outage

# Seconds between two looks at the log of changes.
_REFRESH_SECONDS = 1.5
# Seconds without use after which a key leaves the cache, when its turn comes.
_IDLE_SECONDS = 600.0
# Seconds between two updates of the times at which keys were last used.
_WRITE_SECONDS = 180.0
# The timeout of a query.
_QUERY_SECONDS = 5.0
# Keys per query. Queries of changed keys per refresh, and seconds after which no other one begins.
_BATCH, _MOST_BATCHES, _SLOW_SECONDS = 500, 4, 1.0
# Keys per refresh that are read although no change of them is logged: 4 ms of a processor.
_IN_TURN = 250
_WRONG = "the API key is missing, invalid or revoked"


@dataclass
class _Known:
    caller: Caller
    used: float


class KnownKeys:
    """The recently used keys. While the database is away, these still work, and others get 502."""

    def __init__(self, stored: StoredKeys) -> None:
        self._stored = stored
        self._known: dict[str, _Known] = {}
        self._lookups: dict[str, asyncio.Task[_Known]] = {}
        self._used: set[str] = set()
        self._log = ChangeLog(stored)
        # Keys that may have changed, in order, and those that have not had their turn.
        self._changed: dict[str, None] = {}
        self._turns: list[str] = []
        self._outage = Outage("the database of keys is away", "the database of keys is back")
        self._refreshing = Repeating(_REFRESH_SECONDS, self._refresh)
        self._writing = Repeating(_WRITE_SECONDS, self._write_used)

    def start(self) -> None:
        """Begin to refresh and to write times of use. Call this in the event loop."""
        self._refreshing.start()
        self._writing.start()

    async def close(self) -> None:
        # A query that is cancelled leaves its connection open. While the database is away, nothing else can be done.
        await (self._refreshing.close() if self._outage.away else self._refreshing.finish())
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
            async with asyncio.timeout(_QUERY_SECONDS):
                callers = await self._stored.find([digest])
        except DATABASE_FAILURES as error:
            self._outage.note(error)
            raise BadGateway("API keys cannot be checked for the moment, retry with backoff") from None
        if digest not in callers:
            raise refuse(_WRONG)
        return self._known.setdefault(digest, _Known(callers[digest], time.monotonic()))

    async def _refresh(self) -> None:
        """Read the keys that changed, and some of the others in turn, should a change not be in the log."""
        with self._outage.noting(DATABASE_FAILURES):
            await self._note_changes()
            slow_at = time.monotonic() + _SLOW_SECONDS
            for _ in range(_MOST_BATCHES):
                # The result of a look-up in progress may be older than the change.
                await self._read([key for key in islice(self._changed, _BATCH) if key not in self._lookups])
                if time.monotonic() > slow_at:
                    break
            if not self._changed:
                await self._read(self._next_in_turn())

    async def _note_changes(self) -> None:
        async with asyncio.timeout(_QUERY_SECONDS):
            changes = await self._log.read()
        if changes is None:
            self._changed |= dict.fromkeys([*self._known, *self._lookups])
        elif changes:
            ids = {change.key_id for change in changes if change.key_id}
            orgs = _orgs(changes)
            of_keys = [digest for digest, known in self._known.items() if known.caller.id in ids]
            of_orgs = [digest for digest, known in self._known.items() if _concerns(orgs, known.caller)]
            # A look-up in progress may have read the state before the change. Keys go before organisations, which may
            # have thousands of keys.
            self._changed = dict.fromkeys([*of_keys, *self._changed, *self._lookups, *of_orgs])

    def _next_in_turn(self) -> list[str]:
        """The next keys in turn, without those that are not used any more."""
        if not self._turns:
            self._turns = list(self._known)
        batch = [digest for digest in self._turns[-_IN_TURN:] if digest in self._known]
        del self._turns[-_IN_TURN:]
        oldest = time.monotonic() - _IDLE_SECONDS
        for digest in batch:
            if self._known[digest].used < oldest:
                del self._known[digest]
        return [digest for digest in batch if digest in self._known]

    async def _read(self, digests: list[str]) -> None:
        if not digests:
            return
        async with asyncio.timeout(_QUERY_SECONDS):
            callers = await self._stored.find(digests)
        for digest in digests:
            self._changed.pop(digest, None)
            if digest in callers and digest in self._known:
                self._known[digest].caller = callers[digest]
            else:
                self._known.pop(digest, None)

    async def _write_used(self) -> None:
        used, self._used = list(self._used), set()
        try:
            for start in range(0, len(used), _BATCH):
                await self._stored.note_used(used[start : start + _BATCH])
        except DATABASE_FAILURES:
            # The refresh logs the outage. The next update tries again.
            self._used.update(used)


def _orgs(changes: list[Change]) -> dict[str, bool]:
    """The organisations that changed, and whether by more than credit."""
    orgs: dict[str, bool] = {}
    for change in changes:
        if change.org:
            orgs[change.org] = orgs.get(change.org, False) or not change.is_credit
    return orgs


def _concerns(orgs: Mapping[str, bool], caller: Caller) -> bool:
    """Whether changes of organisations matter to a key. Of credit, only the first does."""
    return caller.org is not None and caller.org in orgs and (orgs[caller.org] or not caller.prepaid)
