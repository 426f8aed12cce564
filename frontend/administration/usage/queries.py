"""Queries of usage and wallets: top-ups, balances, and consumption by day, model and key."""

import asyncio
import copy
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.administration import audit
from frontend.administration.audit import Actor
from frontend.administration.names import MissingError, RegistryError
from frontend.administration.paging import Page, fetch_page
from frontend.administration.usage.outcomes import UNTIMED
from frontend.billing.wallets import lock, set_free
from frontend.catalogue.models import PRICES
from frontend.catalogue.prices import to_chf
from frontend.concurrency.background import uninterrupted
from frontend.database.engine import reading
from frontend.database.tables import (
    KEYS,
    ORGS,
    REQUEST_OUTCOMES,
    RESERVATIONS,
    SECRETS,
    TOPUPS,
    USAGE_DAYS,
    USAGE_EVENTS,
    WALLETS,
)
from frontend.errors import RateLimited

_DAY = 86_400
# Charges younger than this (seconds) cannot be deleted.
_KEPT_SECONDS = 30 * _DAY
# Rows per transaction, so that other writers wait briefly.
_PRUNED_AT_ONCE = 5_000
# The largest balance, in micro-CHF. Sums of it fit a database's integers.
_MOST_IN_A_WALLET = 10**15
# Most reports in parallel. A report may take long, and charges and wallets need connections meanwhile.
_REPORTS_AT_ONCE = 2
# Most reports of one asker that wait, and the seconds after which another may be asked for.
_MOST_WAITING, _RETRY_AFTER = 8, "1"
# The columns to group consumption by.
GROUPS = ("day", "operation", "model", "key", "org")
_COLUMNS = {name: USAGE_DAYS.c["key_id" if name == "key" else name] for name in GROUPS}
# The balance of a wallet, including its reservations.
_RESERVED = sa.select(sa.func.sum(RESERVATIONS.c.amount)).where(RESERVATIONS.c.org == WALLETS.c.org)
_BALANCE = WALLETS.c.balance + sa.func.coalesce(_RESERVED.scalar_subquery(), 0)


@dataclass(frozen=True)
class TopUp:
    """A top-up: ``amount`` in micro-CHF, ``at`` in seconds since 1970."""

    reference: str
    amount: int
    at: int


@dataclass(frozen=True)
class UsageTotal:
    """Consumption of one group. ``group`` has its values in the requested order; ``amount`` is in micro-CHF."""

    group: tuple[str, ...]
    requests: int
    milliseconds: int
    characters: int
    tokens: int
    amount: int


@dataclass(frozen=True)
class OutcomeSummary:
    """Requests of an operation by outcome, and answers by class of time."""

    operation: str
    counts: Counter[str] = field(default_factory=Counter)
    times: Counter[int] = field(default_factory=Counter)


class KeyName(NamedTuple):
    """A key's name and the prefix of its newest secret, because names are not unique."""

    name: str
    prefix: str


@dataclass(frozen=True)
class UsageFilter:
    """Days (YYYY-MM-DD, inclusive) and an organisation or key; without either, all consumption."""

    first: str
    last: str
    org: str | None = None
    key_id: str | None = None


class UsageQueries:
    """Usage and wallets behind one engine. Changes go to the audit log."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine, self._reader, self._actor = engine, reading(engine), Actor.of_process()
        self._reports, self._asker = asyncio.Semaphore(_REPORTS_AT_ONCE), ""
        self._asker_locks = WeakValueDictionary[str, asyncio.Lock]()
        # Reports in progress, with those that wait.
        self._asked = Counter[str]()

    def acting(self, actor: Actor) -> "UsageQueries":
        """A copy that writes ``actor`` to the audit log."""
        acting = copy.copy(self)
        acting._actor = actor
        return acting

    def asked_by(self, asker: str) -> "UsageQueries":
        """A copy whose reports count as reports of ``asker``."""
        asked = copy.copy(self)
        asked._asker = asker
        return asked

    @asynccontextmanager
    async def _report(self) -> AsyncIterator[None]:
        """The turn of a report. An asker gets one at a time, so that many reports delay no other asker.

        Raises ``RateLimited`` if too many reports of the asker wait.
        """
        asker = self._asker
        # One of them does not wait.
        if self._asked[asker] > _MOST_WAITING:
            message = f"more than {_MOST_WAITING} reports of this key wait: ask again when one is answered"
            raise RateLimited(message, headers={"Retry-After": _RETRY_AFTER})
        self._asked[asker] += 1
        try:
            lock = self._asker_locks.setdefault(asker, asyncio.Lock())
            async with lock, self._reports:
                yield
        finally:
            self._asked[asker] -= 1
            if not self._asked[asker]:
                del self._asked[asker]

    @uninterrupted
    async def top_up(self, org: str, amount: int, reference: str | None) -> int:
        """Add ``amount`` micro-CHF to a wallet, made at the first top-up; return the balance in micro-CHF.

        The same top-up with the same ``reference`` changes nothing. Raises ``RegistryError`` for a different one.
        """
        if amount < 1:
            raise RegistryError("a top-up must be more than nothing", "amount")
        row = {"reference": reference or uuid.uuid4().hex, "org": org, "amount": amount}
        another = RegistryError(f"there is another top-up with the reference {reference}", "reference")
        try:
            async with self._engine.begin() as connection:
                # The lock makes simultaneous top-ups of one organisation wait for each other.
                await _check_org(connection, org, locks=True)
                known = sa.select(TOPUPS.c.org, TOPUPS.c.amount).where(TOPUPS.c.reference == row["reference"])
                same = (await connection.execute(known)).one_or_none()
                if same is None:
                    await self._add(connection, row)
                elif tuple(same) != (org, amount):
                    raise another
                return int(await connection.scalar(sa.select(_BALANCE).where(WALLETS.c.org == org)) or 0)
        except IntegrityError:
            # Another organisation's top-up was committed meanwhile.
            raise another from None

    async def _add(self, connection: AsyncConnection, row: dict[str, Any]) -> None:
        org, amount = row["org"], row["amount"]
        free = await lock(connection, org)
        if (free or 0) + amount > _MOST_IN_A_WALLET:
            raise RegistryError("a wallet holds a billion CHF at most", "amount")
        if free is None:
            await connection.execute(sa.insert(WALLETS).values(org=org, balance=amount))
        else:
            await set_free(connection, org, free + amount)
        await connection.execute(sa.insert(TOPUPS).values(**row, at=int(time.time())))
        details = {"amount": to_chf(amount), "reference": row["reference"]}
        await audit.note(connection, self._actor, "wallet.top_up", org, **details)

    async def balance(self, org: str) -> int | None:
        """The balance in micro-CHF, including reservations; None if there is no wallet."""
        return (await self.balances([org])).get(org)

    @uninterrupted
    async def balances(self, orgs: Sequence[str] | None = None) -> dict[str, int]:
        """The balances in micro-CHF of all wallets, or of the wallets of ``orgs``, by organisation."""
        query = sa.select(WALLETS.c.org, _BALANCE).order_by(WALLETS.c.org)
        if orgs is not None:
            query = query.where(WALLETS.c.org.in_(orgs))
        async with self._reader.connect() as connection:
            rows = await connection.execute(query)
            return {row[0]: int(row[1]) for row in rows}

    @uninterrupted
    async def top_ups(self, org: str, page: Page) -> list[TopUp]:
        """One page of an organisation's top-ups. Raises ``MissingError`` if the organisation is unknown."""
        async with self._reader.connect() as connection:
            await _check_org(connection, org)
            query = sa.select(TOPUPS).where(TOPUPS.c.org == org)
            rows = await fetch_page(connection, query, page, (TOPUPS.c.at, TOPUPS.c.reference))
            return [TopUp(row.reference, row.amount, row.at) for row in rows]

    @uninterrupted
    async def prune(self, before: int) -> int:
        """Delete charges older than ``before`` (seconds since 1970) and return their number. Daily totals stay.

        Raises ``RegistryError`` for young charges: without them, a charge that a frontend sends again counts twice.
        """
        if before > time.time() - _KEPT_SECONDS:
            raise RegistryError(
                f"charges of the last {_KEPT_SECONDS // _DAY} days stay: a frontend may send them again"
            )
        old = sa.select(USAGE_EVENTS.c.id).where(USAGE_EVENTS.c.at < before).limit(_PRUNED_AT_ONCE)
        deleted = 0
        while True:
            async with self._engine.begin() as connection:
                result = await connection.execute(sa.delete(USAGE_EVENTS).where(USAGE_EVENTS.c.id.in_(old)))
                if not result.rowcount:
                    return deleted
                if not deleted:
                    await audit.note(connection, self._actor, "usage.prune", "", before=before)
            deleted += result.rowcount

    async def usage(self, scope: UsageFilter, by: Sequence[str], most: int | None = None) -> list[UsageTotal]:
        """Consumption grouped by some of ``GROUPS``, sorted. Raises ``RegistryError`` for over ``most`` groups."""
        groups = [_COLUMNS[name] for name in by]
        quantities = [_quantity(unit) for unit in ("minute", "million_characters", "million_tokens")]
        sums = [sa.func.sum(value) for value in (USAGE_DAYS.c.requests, *quantities, USAGE_DAYS.c.amount)]
        query = _filtered(sa.select(*groups, *sums), USAGE_DAYS, scope)
        limit = None if most is None else most + 1
        async with self._report():
            answer = await self._totals(query.group_by(*groups).order_by(*groups).limit(limit), len(by))
        if most is not None and len(answer) > most:
            raise RegistryError(f"there are more than {most} sums: ask for fewer days, or group by less")
        return answer

    async def outcomes(self, scope: UsageFilter) -> list[OutcomeSummary]:
        """Outcomes of requests and times of answers, by operation."""
        columns = REQUEST_OUTCOMES.c
        groups = (columns.operation, columns.outcome, columns.time_class)
        query = _filtered(sa.select(*groups, sa.func.sum(columns.requests)), REQUEST_OUTCOMES, scope)
        summaries: dict[str, OutcomeSummary] = {}
        async with self._report():
            rows = await self._rows(query.group_by(*groups))
        for operation, outcome, time_class, requests in rows:
            summary = summaries.setdefault(operation, OutcomeSummary(operation))
            summary.counts[outcome] += int(requests)
            if time_class != UNTIMED:
                summary.times[time_class] += int(requests)
        return [summaries[operation] for operation in sorted(summaries)]

    @uninterrupted
    async def _totals(self, query: sa.Select[Any], groups: int) -> list[UsageTotal]:
        async with self._reader.connect() as connection:
            # Thousands of rows would block the event loop.
            return await asyncio.to_thread(_totals, await connection.execute(query), groups)

    @uninterrupted
    async def _rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        async with self._reader.connect() as connection:
            rows: Sequence[Any] = (await connection.execute(query)).all()
            return rows

    @uninterrupted
    async def key_names(self, ids: Sequence[str], org: str | None = None) -> dict[str, KeyName]:
        """The names of the keys with these ids; other ids, such as those of mobile users, are left out.

        With ``org``, only its present keys: it must not see a key's name after the key has moved to another owner.
        """
        query = sa.select(KEYS.c.id, KEYS.c.name, SECRETS.c.prefix).join_from(KEYS, SECRETS)
        query = query.where(KEYS.c.id.in_(ids)).order_by(SECRETS.c.created_at, SECRETS.c.prefix)
        if org is not None:
            query = query.where(KEYS.c.org == org)
        async with self._reader.connect() as connection:
            rows = await connection.execute(query)
            return {row.id: KeyName(row.name, row.prefix) for row in rows}


async def _check_org(connection: AsyncConnection, org: str, *, locks: bool = False) -> None:
    query = sa.select(ORGS.c.name).where(ORGS.c.name == org)
    if await connection.scalar(query.with_for_update() if locks else query) is None:
        raise MissingError(f"there is no organisation {org}")


def _filtered(query: sa.Select[Any], table: sa.Table, scope: UsageFilter) -> sa.Select[Any]:
    query = query.where(table.c.day.between(scope.first, scope.last))
    if scope.org is not None:
        query = query.where(table.c.org == scope.org)
    if scope.key_id is not None:
        query = query.where(table.c.key_id == scope.key_id)
    return query


def _quantity(unit: str) -> sa.ColumnElement[int]:
    """The quantity of a row if its operation is priced in ``unit``, otherwise 0."""
    operations = {price.operation for price in PRICES.values() if price.unit == unit}
    return sa.case((USAGE_DAYS.c.operation.in_(operations), USAGE_DAYS.c.quantity), else_=0)


def _totals(rows: Iterable[sa.Row[Any]], groups: int) -> list[UsageTotal]:
    return [UsageTotal(tuple(row[:groups]), *map(int, row[groups:])) for row in rows if row[-1] is not None]
