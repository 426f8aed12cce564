"""Daily counts of requests by outcome and of answers by time, for the dashboard."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.concurrency.background import Repeating
from frontend.database.engine import DATABASE_FAILURES
from frontend.database.tables import OUTCOME_COLUMNS, REQUEST_DAYS, TIME_COLUMNS
from frontend.observe.logs import Outage
from frontend.observe.metrics import OUTCOMES_LOST
from frontend.usage.times import class_of

Outcome = Literal["answered", "mistaken", "refused", "failed", "hung_up"]
_WRITE_SECONDS = 5.0
# Groups per transaction, so that neither the event loop nor other writers wait long.
_BATCH = 50
# The most groups in memory. A group is an operation of a key on a day.
_MOST_GROUPS = 5_000
_GROUP = ("org", "day", "key_id", "operation")
_Group = tuple[str, str, str, str]


class Outcomes:
    """Counts in memory and adds them to the database. Requests never wait for it, and its memory is bounded.

    Counts may be lost, unlike charges: when a frontend is killed, and the oldest of too many groups in an outage. If a
    connection breaks during a commit, some may count twice.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._waiting: dict[_Group, Counter[str]] = {}
        self._outage = Outage("the database takes no counts of requests", "the database takes counts of requests again")
        self._writing = Repeating(_WRITE_SECONDS, self._write_all)
        insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
        statement = insert(REQUEST_DAYS)
        added = {name: REQUEST_DAYS.c[name] + statement.excluded[name] for name in (*OUTCOME_COLUMNS, *TIME_COLUMNS)}
        self._add = statement.on_conflict_do_update(index_elements=list(_GROUP), set_=added)

    def start(self) -> None:
        """Begin to write. Call this in the event loop."""
        self._writing.start()

    async def close(self) -> None:
        """Write the remaining counts; they are lost if the database is away."""
        await self._writing.finish()
        await self._write_all()
        OUTCOMES_LOST.inc(sum(map(_requests, self._waiting.values())))

    def count(self, caller: Caller, operation: str, outcome: Outcome, seconds: float | None) -> None:
        """Count a request that has ended. ``seconds`` counts if it was answered; a live session has none."""
        day = time.strftime("%Y-%m-%d", time.gmtime())
        counts: Counter[str] = Counter({outcome: 1})
        if outcome == "answered" and seconds is not None:
            counts[TIME_COLUMNS[class_of(seconds)]] = 1
        self._add_to((caller.org or "", day, caller.id, operation), counts)

    def _add_to(self, group: _Group, counts: Counter[str]) -> None:
        known = self._waiting.get(group)
        if known is not None:
            known.update(counts)
            return
        if len(self._waiting) >= _MOST_GROUPS:
            oldest = next(iter(self._waiting))
            OUTCOMES_LOST.inc(_requests(self._waiting.pop(oldest)))
        self._waiting[group] = counts

    async def _write_all(self) -> None:
        """Write all counts in batches. After a failure, they stay for the next time."""
        # All frontends write in the same order, which avoids deadlocks.
        groups = sorted(self._waiting)
        for first in range(0, len(groups), _BATCH):
            some = groups[first : first + _BATCH]
            taken = {group: self._waiting.pop(group) for group in some if group in self._waiting}
            try:
                await self._write(taken)
            except DATABASE_FAILURES as error:
                for group, counts in taken.items():
                    self._add_to(group, counts)
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
