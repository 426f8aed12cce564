"""What is put into wallets, and what is in them."""

import time
import uuid
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from frontend.access import audit
from frontend.access.audit import Actor
from frontend.access.names import MissingError, RegistryError
from frontend.access.paging import Page, part
from frontend.catalogue.prices import to_chf
from frontend.database.tables import ORGS, TOPUPS, WALLET_LEASES, WALLETS

# Sums of it stay far from what a database's integers hold.
_MOST_IN_A_WALLET = 10**15
# What frontends hold of a wallet.
HELD = sa.func.coalesce(
    sa.select(sa.func.sum(WALLET_LEASES.c.amount)).where(WALLET_LEASES.c.org == WALLETS.c.org).scalar_subquery(), 0
)


@dataclass(frozen=True)
class TopUp:
    """What was put into a wallet, in micro-CHF, in seconds since 1970."""

    reference: str
    amount: int
    at: int


async def balance(connection: AsyncConnection, org: str) -> int | None:
    """Micro-CHF that are not charged yet; None where there is no wallet."""
    found = await connection.scalar(sa.select(HELD + WALLETS.c.balance).where(WALLETS.c.org == org))
    return None if found is None else int(found)


async def add(connection: AsyncConnection, actor: Actor, org: str, amount: int, reference: str | None) -> int:
    """Add to a wallet, which is made at its first, once for a reference; answers the balance."""
    if amount < 1:
        raise RegistryError("a top-up must be more than nothing", "amount")
    row = {"reference": reference or uuid.uuid4().hex, "org": org, "amount": amount}
    # Two that come at once wait for each other here.
    if await connection.scalar(sa.select(ORGS.c.name).where(ORGS.c.name == org).with_for_update()) is None:
        raise MissingError(f"there is no organisation {org}")
    unheld = await connection.scalar(sa.select(WALLETS.c.balance).where(WALLETS.c.org == org).with_for_update())
    known = sa.select(TOPUPS.c.org, TOPUPS.c.amount).where(TOPUPS.c.reference == row["reference"])
    same = (await connection.execute(known)).one_or_none()
    if same is not None and tuple(same) != (org, amount):
        raise RegistryError(f"there is another top-up with the reference {reference}", "reference")
    if same is None:
        if (await balance(connection, org) or 0) + amount > _MOST_IN_A_WALLET:
            raise RegistryError("a wallet holds a billion CHF at most", "amount")
        if unheld is None:
            await connection.execute(sa.insert(WALLETS).values(org=org, balance=0))
        change = sa.update(WALLETS).where(WALLETS.c.org == org)
        await connection.execute(change.values(balance=WALLETS.c.balance + amount))
        await connection.execute(sa.insert(TOPUPS).values(**row, at=int(time.time())))
        told = {"amount": to_chf(amount), "reference": row["reference"]}
        await audit.note(connection, actor, "wallet.top_up", org, **told)
    return await balance(connection, org) or 0


async def of_org(connection: AsyncConnection, org: str, page: Page) -> list[TopUp]:
    """What was put into the wallet of an organisation."""
    if await connection.scalar(sa.select(ORGS.c.name).where(ORGS.c.name == org)) is None:
        raise MissingError(f"there is no organisation {org}")
    query = sa.select(TOPUPS).where(TOPUPS.c.org == org)
    rows = await part(connection, query, page, (TOPUPS.c.at, TOPUPS.c.reference))
    return [TopUp(row.reference, row.amount, row.at) for row in rows]
