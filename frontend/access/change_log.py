"""The changes of keys, organisations and wallets that are new in the audit log."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from frontend.access.stored_keys import AuditEntry, StoredKeys

# Changes per query, and those before the newest one that may have been committed later than it.
_BATCH, _OVERLAP = 1_000, 100
# Seconds in which a transaction is committed or undone.
_COMMIT_SECONDS = 30.0
# The most ids that may come later.
_MOST_MISSING = 1_000


@dataclass(frozen=True)
class Change:
    """What changed: a key by its id, or an organisation by its name. ``is_credit``: it got credit."""

    key_id: str = ""
    org: str = ""
    is_credit: bool = False


class ChangeLog:
    """Returns each change once, whatever the clocks say. Postgres may commit changes in another order than their ids.

    Queries raise ``DATABASE_FAILURES``; what was not returned is returned the next time.
    """

    def __init__(self, keys: StoredKeys) -> None:
        self._keys = keys
        self._last: int | None = None
        # Ids that were skipped, and the time at which they will not come any more.
        self._missing: dict[int, float] = {}

    async def read(self) -> list[Change] | None:
        """The new changes, at most ``_BATCH``; None if anything may have changed."""
        now = time.monotonic()
        self._missing = {number: until for number, until in self._missing.items() if until > now}
        if self._last is None:
            newest = await self._keys.newest_change()
            self._last = max(0, newest - _OVERLAP)
            self._note(await self._keys.changes_from(self._last, [], _OVERLAP + 1), now)
            self._last = max(self._last, newest)
            return None
        entries = await self._keys.changes_from(self._last, list(self._missing), _BATCH)
        if self._last and self._last not in {entry.id for entry in entries}:
            # The database is another one, or was restored.
            self._last, self._missing = None, {}
            return None
        return list(_changes(self._note(entries, now)))

    def _note(self, entries: list[AuditEntry], now: float) -> list[AuditEntry]:
        """Note the ids of entries, and return the new ones."""
        assert self._last is not None
        new = [entry for entry in entries if entry.id > self._last or entry.id in self._missing]
        for entry in new:
            self._missing.pop(entry.id, None)
            skipped = range(max(self._last + 1, entry.id - _MOST_MISSING), entry.id)
            self._missing |= dict.fromkeys(skipped, now + _COMMIT_SECONDS)
            self._last = max(self._last, entry.id)
        while len(self._missing) > _MOST_MISSING:
            del self._missing[next(iter(self._missing))]
        return new


def _changes(entries: list[AuditEntry]) -> Iterator[Change]:
    for entry in entries:
        if entry.action.startswith("key."):
            yield Change(key_id=entry.details["id"])
        elif entry.target:
            yield Change(org=entry.target, is_credit=entry.action == "wallet.top_up")
