"""How requests of keys ended and how long answers took: counted here, and added to the sums of all frontends."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.database.engine import DATABASE_FAILURES
from frontend.database.tables import OUTCOME_COLUMNS, REQUEST_DAYS, TIME_COLUMNS
from frontend.observe.logs import Outage
from frontend.observe.metrics import OUTCOMES_LOST
from frontend.processes.background import Repeating
from frontend.usage.times import class_of

Outcome = Literal["answered", "mistaken", "refused", "failed", "hung_up"]
_EVERY_SECONDS = 5.0
# Groups that are written in one transaction: so few that neither the event loop nor other writers wait long.
_BATCH = 50
_MOST_GROUPS = 5_000
_GROUP = ("org", "day", "key_id", "operation")
_Group = tuple[str, str, str, str]


class Outcomes:
    """Requests never wait for it, and what it holds is bounded, however long the database is away.

    Other than a charge, a count may be lost: what a killed frontend has not written yet, and those that were held
    longest where there are more groups (an operation of a key on a day) than can be held. Where a connection breaks in
    the moment of a commit, some may count twice.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._waiting: dict[_Group, Counter[str]] = {}
        self._outage = Outage("the database takes no counts of requests", "the database takes counts of requests again")
        self._bringing = Repeating(_EVERY_SECONDS, self._bring)
        insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
        statement = insert(REQUEST_DAYS)
        added = {name: REQUEST_DAYS.c[name] + statement.excluded[name] for name in (*OUTCOME_COLUMNS, *TIME_COLUMNS)}
        self._add = statement.on_conflict_do_update(index_elements=list(_GROUP), set_=added)

    def start(self) -> None:
        """Begin to write; within the event loop."""
        self._bringing.start()

    async def close(self) -> None:
        """Write what is there; what the database does not take is lost."""
        await self._bringing.finish()
        await self._bring()
        OUTCOMES_LOST.inc(sum(map(_requests, self._waiting.values())))

    def count(self, caller: Caller, operation: str, outcome: Outcome, seconds: float) -> None:
        """A request has ended; how long it took counts where it was answered."""
        day = time.strftime("%Y-%m-%d", time.gmtime())
        counts: Counter[str] = Counter({outcome: 1})
        if outcome == "answered":
            counts[TIME_COLUMNS[class_of(seconds)]] = 1
        self._hold((caller.org or "", day, caller.id, operation), counts)

    def _hold(self, group: _Group, counts: Counter[str]) -> None:
        known = self._waiting.get(group)
        if known is not None:
            known.update(counts)
            return
        if len(self._waiting) >= _MOST_GROUPS:
            longest_held = next(iter(self._waiting))
            OUTCOMES_LOST.inc(_requests(self._waiting.pop(longest_held)))
        self._waiting[group] = counts

    async def _bring(self) -> None:
        """Write all that waits, some at a time; what cannot be written waits for the next time."""
        # In one order everywhere, so that writers never wait in a circle.
        groups = sorted(self._waiting)
        for first in range(0, len(groups), _BATCH):
            some = groups[first : first + _BATCH]
            taken = {group: self._waiting.pop(group) for group in some if group in self._waiting}
            try:
                await self._write(taken)
            except DATABASE_FAILURES as error:
                for group, counts in taken.items():
                    self._hold(group, counts)
                self._outage.note(error)
                return
            self._outage.note(None)

    async def _write(self, taken: Mapping[_Group, Counter[str]]) -> None:
        if not taken:
            return
        rows: list[dict[str, Any]] = [
            dict(zip(_GROUP, group, strict=True)) | {name: counts[name] for name in (*OUTCOME_COLUMNS, *TIME_COLUMNS)}
            for group, counts in taken.items()
        ]
        async with self._engine.begin() as connection:
            await connection.execute(self._add, rows)


def _requests(counts: Counter[str]) -> int:
    return sum(counts[outcome] for outcome in OUTCOME_COLUMNS)
