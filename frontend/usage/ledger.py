"""Charges in the database: each once, with daily totals and the payment from a wallet, in one transaction."""

import dataclasses
import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS, USAGE_SPOOLS
from frontend.observe.metrics import CHARGED
from frontend.usage.spool import UsageEvent
from frontend.usage.wallets import settle

# A charge and its place in the spool.
Placed = tuple[int, UsageEvent]


@dataclass(frozen=True)
class IdempotencyWindow:
    """One charge pays for this many ``answers`` to the same request, within this many ``seconds`` of the first."""

    seconds: int = 600
    answers: int = 3


@dataclass
class _Charge:
    """A charge of a request: the number of ``answers`` that it paid for, and the price of the dearest.

    ``number`` counts the charges of one request.
    """

    identity: str
    number: int
    at: int
    quantity: int
    amount: int
    answers: int = 1

    @classmethod
    def of(cls, event: UsageEvent, number: int = 0) -> "_Charge":
        return cls(event.id, number, event.at, event.quantity, event.amount)

    @property
    def id(self) -> str:
        """The id of the row. The first charge of a request has the id of the request."""
        name = f"{self.identity} {self.number}".encode()
        return hashlib.sha256(name).hexdigest()[:32] if self.number else self.identity


class Ledger:
    """Writes the charges of one spool, the ``holder``. Rows are written in order of their ids, to avoid deadlocks."""

    def __init__(self, engine: AsyncEngine, holder: str, window: IdempotencyWindow) -> None:
        self._engine, self._holder, self._window = engine, holder, window
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    async def write(self, placed: Sequence[Placed]) -> None:
        """Add new charges, take them from wallets and end their reservations. ``placed`` is sorted by place.

        Repeating it changes nothing, so it is safe to retry when nobody knows whether a transaction was committed.
        """
        async with self._engine.begin() as connection:
            written = await self._written(connection)
            events = [event for place, event in placed if place > written]
            new, more = await self._charge(connection, events)
            await self._add_days(connection, new)
            await self._add_days(connection, more, requests=0)
            reserved = RESERVATIONS.c.id.in_(
                [name for event in events for name in event.reservation.split(",") if name]
            )
            await settle(connection, reserved, _costs(new + more))
            await self._set_written(connection, max([written, *(place for place, _ in placed)]))
        for event in new + more:
            CHARGED.labels(event.operation).inc(event.amount)

    async def end(self) -> None:
        """End all reservations of the holder, which sends no more charges."""
        async with self._engine.begin() as connection:
            await settle(connection, RESERVATIONS.c.holder == self._holder)
            await connection.execute(sa.delete(USAGE_SPOOLS).where(USAGE_SPOOLS.c.holder == self._holder))

    async def _written(self, connection: AsyncConnection) -> int:
        query = sa.select(USAGE_SPOOLS.c.place).where(USAGE_SPOOLS.c.holder == self._holder)
        return await connection.scalar(query.with_for_update()) or 0

    async def _set_written(self, connection: AsyncConnection, place: int) -> None:
        insert = self._insert(USAGE_SPOOLS).values(holder=self._holder, place=place)
        await connection.execute(insert.on_conflict_do_update(index_elements=["holder"], set_={"place": place}))

    async def _charge(
        self, connection: AsyncConnection, events: Sequence[UsageEvent]
    ) -> tuple[list[UsageEvent], list[UsageEvent]]:
        """Write charges. Return the new ones, and the additional costs of repeats that were dearer.

        A repeat of a paid request is free up to the price paid, because its first answer may have been broken off.
        The first charge of a request is also its lock: the transaction that inserted or locked it decides.
        """
        first = {event.id: event for event in reversed(events)}
        inserted = await self._insert_charges(connection, [(_Charge.of(event), event) for event in first.values()])
        latest = await self._latest(connection, first.keys() - inserted)
        repeated: dict[str, _Charge] = {}
        again: list[tuple[_Charge, UsageEvent]] = []
        more: list[UsageEvent] = []
        for event in events:
            charge = latest.get(event.id)
            if charge is None:
                latest[event.id] = _Charge.of(event)
            elif abs(event.at - charge.at) <= self._window.seconds and charge.answers < self._window.answers:
                charge.answers += 1
                repeated[charge.id] = charge
                if event.amount > charge.amount:
                    quantity, amount = event.quantity - charge.quantity, event.amount - charge.amount
                    more.append(dataclasses.replace(event, quantity=quantity, amount=amount))
                    charge.quantity, charge.amount = event.quantity, event.amount
            else:
                latest[event.id] = _Charge.of(event, charge.number + 1)
                again.append((latest[event.id], event))
        await self._insert_charges(connection, again)
        for name, charge in sorted(repeated.items()):
            change = sa.update(USAGE_EVENTS).where(USAGE_EVENTS.c.id == name)
            values = {"answers": charge.answers, "quantity": charge.quantity, "amount": charge.amount}
            await connection.execute(change.values(values))
        return [first[name] for name in inserted] + [event for _, event in again], more

    async def _latest(self, connection: AsyncConnection, identities: Collection[str]) -> dict[str, _Charge]:
        """Lock and read the last charge of each request."""
        columns = USAGE_EVENTS.c
        lock = sa.select(columns.id).where(columns.id.in_(identities)).order_by(columns.id).with_for_update()
        await connection.execute(lock)
        # A request that is repeated for days has thousands of charges; only the last one matters.
        numbers = sa.select(columns.identity, sa.func.max(columns.ordinal).label("ordinal"))
        last = numbers.where(columns.identity.in_(identities)).group_by(columns.identity).subquery()
        is_last = sa.and_(columns.identity == last.c.identity, columns.ordinal == last.c.ordinal)
        read = (columns.identity, columns.ordinal, columns.at, columns.quantity, columns.amount, columns.answers)
        rows = await connection.execute(sa.select(*read).join(last, is_last))
        return {row.identity: _Charge(*row) for row in rows}

    async def _insert_charges(
        self, connection: AsyncConnection, charges: Sequence[tuple[_Charge, UsageEvent]]
    ) -> set[str]:
        """Insert charges, and return the ids of those that were new."""
        if not charges:
            return set()
        insert = self._insert(USAGE_EVENTS).on_conflict_do_nothing(index_elements=["id"])
        rows = [
            {name: value for name, value in vars(event).items() if name != "reservation"}
            | {"id": charge.id, "identity": event.id, "ordinal": charge.number, "answers": 1}
            for charge, event in sorted(charges, key=lambda pair: pair[0].id)
        ]
        return set(await connection.scalars(insert.returning(USAGE_EVENTS.c.id), rows))

    async def _add_days(self, connection: AsyncConnection, events: Sequence[UsageEvent], *, requests: int = 1) -> None:
        days: dict[tuple[str, ...], Counter[str]] = {}
        for event in events:
            day = time.strftime("%Y-%m-%d", time.gmtime(event.at))
            sums = days.setdefault((day, event.org or "", event.key_id, event.model, event.operation), Counter())
            sums.update(requests=requests, quantity=event.quantity, amount=event.amount)
        if not days:
            return
        names = ("day", "org", "key_id", "model", "operation")
        rows: list[dict[str, Any]] = [dict(zip(names, key, strict=True)) | sums for key, sums in sorted(days.items())]
        insert = self._insert(USAGE_DAYS)
        added = {name: USAGE_DAYS.c[name] + insert.excluded[name] for name in ("requests", "quantity", "amount")}
        await connection.execute(
            insert.on_conflict_do_update(index_elements=["day", "org", "key_id", "model"], set_=added), rows
        )


def _costs(events: Iterable[UsageEvent]) -> Counter[str]:
    """The micro-CHF to take from wallets, by organisation."""
    sums: Counter[str] = Counter()
    for event in events:
        if event.payer is not None:
            sums[event.payer] += event.amount
    return sums
