"""Charges in the database: each once, with daily totals and the payment from a wallet, in one transaction."""

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.billing.wallets import settle
from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS, USAGE_SPOOLS
from frontend.observe.metrics import CHARGED

# The sums of a day.
_SUMS = ("requests", "quantity", "amount")


@dataclass(frozen=True)
class Charge:
    """One answer: ``quantity`` (ms of audio, code points or tokens) at ``price`` micro-CHF a ``unit`` is ``amount``.

    ``id`` is the same for repeats of a request. ``prepaid`` is whether a wallet pays. ``at`` is in seconds since 1970.
    ``price`` is stored, so that later prices do not change old charges. ``reservation`` has the ids of the
    reservations, separated by commas.
    """

    id: str
    request_id: str
    key_id: str
    org: str | None
    operation: str
    model: str
    quantity: int
    unit: str
    price: int
    amount: int
    prepaid: bool
    at: int
    reservation: str = ""

    @property
    def payer(self) -> str | None:
        """The organisation whose wallet pays."""
        return self.org if self.prepaid else None


# A charge, behind its position in the spool.
Numbered = tuple[int, Charge]


@dataclass(frozen=True)
class IdempotencyWindow:
    """One charge pays for this many ``answers`` to the same request, within this many ``seconds`` of the first."""

    seconds: int = 600
    answers: int = 3


@dataclass
class _Row:
    """A row of a request: the number of ``answers`` that it pays for, and the price of the dearest.

    ``number`` counts the rows of one request.
    """

    identity: str
    number: int
    at: int
    quantity: int
    amount: int
    answers: int = 1

    @classmethod
    def of(cls, charge: Charge, number: int = 0) -> "_Row":
        return cls(charge.id, number, charge.at, charge.quantity, charge.amount)

    @property
    def id(self) -> str:
        """The first row of a request has the id of the request."""
        name = f"{self.identity} {self.number}".encode()
        return hashlib.sha256(name).hexdigest()[:32] if self.number else self.identity

    def pays(self, repeat: Charge, window: IdempotencyWindow) -> bool:
        """Whether this row pays for one more answer. A frontend may bring an earlier answer later."""
        return self.answers < window.answers and abs(repeat.at - self.at) <= window.seconds

    def add(self, repeat: Charge) -> Charge | None:
        """Count one more answer, and return what it costs more than the dearest so far."""
        self.answers += 1
        if repeat.amount <= self.amount:
            return None
        more = replace(repeat, quantity=repeat.quantity - self.quantity, amount=repeat.amount - self.amount)
        self.quantity, self.amount = repeat.quantity, repeat.amount
        return more


class Ledger:
    """Writes the charges of one spool, the ``holder``. Rows are written in order of their ids, to avoid deadlocks."""

    def __init__(self, engine: AsyncEngine, holder: str, window: IdempotencyWindow) -> None:
        self._engine, self._holder, self._window = engine, holder, window
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    async def write(self, numbered: Sequence[Numbered]) -> None:
        """Add new charges, take them from wallets and end their reservations. ``numbered`` is in order.

        Repeating it changes nothing, so it is safe to retry when nobody knows whether a transaction was committed.
        """
        async with self._engine.begin() as connection:
            written = await self._written(connection)
            charges = [charge for position, charge in numbered if position > written]
            new, more = await self._charge(connection, charges)
            await self._add_days(connection, new, more)
            reservations = [name for charge in charges for name in charge.reservation.split(",") if name]
            costs = _sums((charge.payer, charge.amount) for charge in new + more)
            if reservations or costs:
                await settle(connection, RESERVATIONS.c.id.in_(reservations), costs)
            await self._set_written(connection, max([written, *(position for position, _ in numbered)]))
        for operation, amount in _sums((charge.operation, charge.amount) for charge in new + more).items():
            CHARGED.labels(operation).inc(amount)

    async def end(self) -> None:
        """End all reservations of the holder, which sends no more charges."""
        async with self._engine.begin() as connection:
            await settle(connection, RESERVATIONS.c.holder == self._holder)
            await connection.execute(sa.delete(USAGE_SPOOLS).where(USAGE_SPOOLS.c.holder == self._holder))

    async def _written(self, connection: AsyncConnection) -> int:
        """The position of the last charge of this spool that the database has."""
        query = sa.select(USAGE_SPOOLS.c.position).where(USAGE_SPOOLS.c.holder == self._holder)
        return await connection.scalar(query.with_for_update()) or 0

    async def _set_written(self, connection: AsyncConnection, position: int) -> None:
        insert = self._insert(USAGE_SPOOLS).values(holder=self._holder, position=position)
        await connection.execute(insert.on_conflict_do_update(index_elements=["holder"], set_={"position": position}))

    async def _charge(
        self, connection: AsyncConnection, charges: Sequence[Charge]
    ) -> tuple[list[Charge], list[Charge]]:
        """Write rows. Return the charges that are new, and the additional costs of repeats that were dearer.

        A repeat of a paid request is free up to the price paid, because its first answer may have been broken off.
        The first row of a request is also its lock: the transaction that inserted or locked it decides.
        """
        first = {charge.id: charge for charge in reversed(charges)}
        inserted = await self._insert_rows(connection, [(_Row.of(charge), charge) for charge in first.values()])
        latest = await self._latest(connection, first.keys() - inserted)
        new: list[Charge] = []
        more: list[Charge] = []
        again: list[tuple[_Row, Charge]] = []
        changed: dict[str, _Row] = {}
        for charge in charges:
            row = latest.get(charge.id)
            if row is None:
                # It was inserted above.
                latest[charge.id] = _Row.of(charge)
                new.append(charge)
            elif row.pays(charge, self._window):
                changed[row.id] = row
                if (cost := row.add(charge)) is not None:
                    more.append(cost)
            else:
                latest[charge.id] = _Row.of(charge, row.number + 1)
                again.append((latest[charge.id], charge))
                new.append(charge)
        await self._insert_rows(connection, again)
        for name, row in sorted(changed.items()):
            values = {"answers": row.answers, "quantity": row.quantity, "amount": row.amount}
            await connection.execute(sa.update(USAGE_EVENTS).where(USAGE_EVENTS.c.id == name).values(values))
        return new, more

    async def _latest(self, connection: AsyncConnection, identities: Collection[str]) -> dict[str, _Row]:
        """Lock and read the last row of each request."""
        if not identities:
            return {}
        columns = USAGE_EVENTS.c
        lock = sa.select(columns.id).where(columns.id.in_(identities)).order_by(columns.id).with_for_update()
        await connection.execute(lock)
        # A request that is repeated for days has thousands of rows; only the last one matters.
        numbers = sa.select(columns.identity, sa.func.max(columns.ordinal).label("ordinal"))
        last = numbers.where(columns.identity.in_(identities)).group_by(columns.identity).subquery()
        is_last = sa.and_(columns.identity == last.c.identity, columns.ordinal == last.c.ordinal)
        read = (columns.identity, columns.ordinal, columns.at, columns.quantity, columns.amount, columns.answers)
        rows = await connection.execute(sa.select(*read).join(last, is_last))
        return {row.identity: _Row(*row) for row in rows}

    async def _insert_rows(self, connection: AsyncConnection, pairs: Sequence[tuple[_Row, Charge]]) -> set[str]:
        """Insert rows, and return the ids of those that were new."""
        if not pairs:
            return set()
        insert = self._insert(USAGE_EVENTS).on_conflict_do_nothing(index_elements=["id"])
        rows = [
            {name: value for name, value in vars(charge).items() if name != "reservation"}
            | {"id": row.id, "identity": charge.id, "ordinal": row.number, "answers": 1}
            for row, charge in sorted(pairs, key=lambda pair: pair[0].id)
        ]
        return set(await connection.scalars(insert.returning(USAGE_EVENTS.c.id), rows))

    async def _add_days(self, connection: AsyncConnection, new: Iterable[Charge], more: Iterable[Charge]) -> None:
        """Add charges to the sums of their days. ``more`` is of requests that are counted already."""
        days: dict[tuple[str, ...], list[int]] = {}
        for requests, charges in ((1, new), (0, more)):
            for charge in charges:
                day = time.strftime("%Y-%m-%d", time.gmtime(charge.at))
                key = (day, charge.org or "", charge.key_id, charge.model, charge.operation)
                sums = days.setdefault(key, [0, 0, 0])
                sums[:] = sums[0] + requests, sums[1] + charge.quantity, sums[2] + charge.amount
        if not days:
            return
        names = ("day", "org", "key_id", "model", "operation", *_SUMS)
        rows: list[dict[str, Any]] = [
            dict(zip(names, (*key, *sums), strict=True)) for key, sums in sorted(days.items())
        ]
        insert = self._insert(USAGE_DAYS)
        added = {name: USAGE_DAYS.c[name] + insert.excluded[name] for name in _SUMS}
        await connection.execute(
            insert.on_conflict_do_update(index_elements=["day", "org", "key_id", "model"], set_=added), rows
        )


def _sums(amounts: Iterable[tuple[str | None, int]]) -> Counter[str]:
    """The micro-CHF by name, without those of nobody."""
    sums: Counter[str] = Counter()
    for name, amount in amounts:
        if name is not None:
            sums[name] += amount
    return sums
