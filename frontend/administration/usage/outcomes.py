"""Daily counts of requests by outcome and of answers by time, for the dashboard.

A customer sees those of one organisation over any days. The metrics cannot show them: they are counts of one process
since its start, over all callers, and a label for each key would make thousands of series.
"""

import bisect
import math
import time
from collections.abc import Mapping
from typing import Literal, get_args

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.concurrency.background import Repeating, uninterrupted
from frontend.database.engine import DATABASE_FAILURES
from frontend.database.tables import REQUEST_OUTCOMES
from frontend.middleware.access_log import CLIENT_DISCONNECTED
from frontend.observe.logs import Outage
from frontend.observe.metrics import OUTCOMES_LOST

Outcome = Literal["answered", "mistaken", "refused", "failed", "hung_up"]
NAMES: tuple[Outcome, ...] = get_args(Outcome)
# Reasons of refusals that are not the caller's mistake.
_RETRYABLE = ("limit", "balance", "queue")
# Upper bounds of the classes of time in seconds, from 2 ms to four and a half minutes; the last class has none.
_STEP = math.sqrt(2)
BOUNDS = tuple(0.002 * _STEP**index for index in range(35))
# The class of requests without a time.
UNTIMED = -1
_WRITE_SECONDS = 5.0
# Rows per transaction, so that neither the event loop nor other writers wait long.
_BATCH = 200
# The most rows in memory: a key's operation has about ten a day.
_MOST_ROWS = 20_000
_GROUP = ("org", "day", "key_id", "operation", "outcome", "time_class")
_Group = tuple[str, str, str, str, Outcome, int]


def outcome_of(status: int, refused_for: str) -> Outcome:
    """The outcome of a request. A refusal with a request to retry is not a client error."""
    if status == CLIENT_DISCONNECTED:
        return "hung_up"
    if refused_for in _RETRYABLE:
        return "refused"
    return "failed" if status >= 500 else "mistaken" if status >= 400 else "answered"


def class_of(seconds: float) -> int:
    """The index of the class of a time."""
    return bisect.bisect_left(BOUNDS, seconds)


def percentile(counts: Mapping[int, int], share: float) -> float | None:
    """The time in seconds that ``share`` of the times, counted by class, do not exceed; None without counts.

    It is the geometric middle of a class, at most the fourth root of two off (19 %), or the nearest bound.
    """
    rank, seen = share * sum(counts.values()), 0
    for index, count in sorted(counts.items()):
        seen += count
        if seen >= rank:
            lower, upper = BOUNDS[max(index - 1, 0)], BOUNDS[min(index, len(BOUNDS) - 1)]
            return round(math.sqrt(lower * upper), 4)
    return None


class Outcomes:
    """Counts in memory and adds them to the database. Requests never wait for it, and its memory is bounded.

    Counts may be lost, unlike charges: when a frontend is killed, and the oldest of too many rows in an outage. If a
    connection breaks during a commit, some may count twice.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._waiting: dict[_Group, int] = {}
        self._outage = Outage("the database takes no counts of requests", "the database takes counts of requests again")
        self._writing = Repeating(_WRITE_SECONDS, self._write_all)
        statement = (postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert)(REQUEST_OUTCOMES)
        added = {"requests": REQUEST_OUTCOMES.c.requests + statement.excluded.requests}
        self._add = statement.on_conflict_do_update(index_elements=list(_GROUP), set_=added)

    def start(self) -> None:
        """Begin to write. Call this in the event loop."""
        self._writing.start()

    async def close(self) -> None:
        """Write the remaining counts; they are lost if the database is away."""
        await self._writing.finish()
        await self._write_all()
        OUTCOMES_LOST.inc(sum(self._waiting.values()))

    def count(self, caller: Caller, operation: str, outcome: Outcome, seconds: float | None) -> None:
        """Count a request that has ended. ``seconds`` counts if it was answered; a live session has none."""
        day = time.strftime("%Y-%m-%d", time.gmtime())
        time_class = class_of(seconds) if outcome == "answered" and seconds is not None else UNTIMED
        self._add_to((caller.org or "", day, caller.id, operation, outcome, time_class), 1)

    def _add_to(self, group: _Group, requests: int) -> None:
        if group not in self._waiting and len(self._waiting) >= _MOST_ROWS:
            OUTCOMES_LOST.inc(self._waiting.pop(next(iter(self._waiting))))
        self._waiting[group] = self._waiting.get(group, 0) + requests

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
                for group, requests in taken.items():
                    self._add_to(group, requests)
                self._outage.note(error)
                return
            self._outage.note(None)

    @uninterrupted
    async def _write(self, taken: Mapping[_Group, int]) -> None:
        if not taken:
            return
        rows = [dict(zip((*_GROUP, "requests"), (*group, taken[group]), strict=True)) for group in taken]
        async with self._engine.begin() as connection:
            await connection.execute(self._add, rows)
