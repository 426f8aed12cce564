"""Charges in the database: each once, with its sums by day, and the wallet that pays for it, in one transaction."""

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.database.tables import USAGE_DAYS, USAGE_EVENTS, WALLET_LEASES
from frontend.observe import log
from frontend.usage import leases
from frontend.usage.events import UsageEvent, amounts


class Ledger:
    """Writes what ``holder`` has charged. Rows go in one order everywhere, so that writers never wait in a circle."""

    def __init__(self, engine: AsyncEngine, holder: str) -> None:
        self._engine, self._holder = engine, holder
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    async def write(self, events: Sequence[UsageEvent]) -> Mapping[str, int]:
        """Add the events that are not there yet; answers what the holder's leases of their wallets are after that.

        Repeating it changes nothing, so whatever became of a transaction that broke off, it is tried again.
        """
        in_order = sorted(events, key=lambda event: event.id)
        async with self._engine.begin() as connection:
            new = await self._add(connection, in_order)
            await self._add_days(connection, new)
            await self._pay(connection, new)
            orgs = {event.payer for event in events if event.payer is not None}
            query = sa.select(WALLET_LEASES.c.org, WALLET_LEASES.c.amount).where(
                WALLET_LEASES.c.holder == self._holder, WALLET_LEASES.c.org.in_(orgs)
            )
            return {row.org: row.amount for row in await connection.execute(query)}

    async def _add(self, connection: AsyncConnection, events: Sequence[UsageEvent]) -> list[UsageEvent]:
        insert = self._insert(USAGE_EVENTS).on_conflict_do_nothing(index_elements=["id"])
        rows = [dataclasses.asdict(event) for event in events]
        ids = set(await connection.scalars(insert.returning(USAGE_EVENTS.c.id), rows))
        return [event for event in events if event.id in ids]

    async def _add_days(self, connection: AsyncConnection, events: Sequence[UsageEvent]) -> None:
        days: dict[tuple[str, ...], Counter[str]] = {}
        for event in events:
            day = time.strftime("%Y-%m-%d", time.gmtime(event.at))
            sums = days.setdefault((day, event.org or "", event.key_id, event.model, event.operation), Counter())
            sums.update(requests=1, quantity=event.quantity, amount=event.amount)
        if not days:
            return
        names = ("day", "org", "key_id", "model", "operation")
        rows: list[dict[str, Any]] = [dict(zip(names, key, strict=True)) | sums for key, sums in sorted(days.items())]
        insert = self._insert(USAGE_DAYS)
        added = {name: USAGE_DAYS.c[name] + insert.excluded[name] for name in ("requests", "quantity", "amount")}
        await connection.execute(
            insert.on_conflict_do_update(index_elements=["day", "org", "key_id", "model"], set_=added), rows
        )

    async def _pay(self, connection: AsyncConnection, events: Sequence[UsageEvent]) -> None:
        for org, cost in sorted(amounts(events).items()):
            missing = cost - await leases.spend(connection, self._holder, org, cost)
            if missing:
                # The lease was given up in the name of a frontend that was thought lost for good.
                unpaid = missing - await leases.spend_unheld(connection, org, missing)
                log.error("charged beyond a lease", extra={"fields": {"org": org, "amount": missing, "unpaid": unpaid}})
