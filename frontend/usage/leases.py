"""The parts of wallets that frontends hold. Every change takes a wallet's row first, then the lease's."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from frontend.database.tables import WALLET_LEASES, WALLETS


@dataclass(frozen=True)
class Grant:
    """What a holder has of a wallet, and what others hold that might come back; None where the holder has enough."""

    amount: int
    held_by_others: int | None


def _lease(holder: str, org: str) -> sa.ColumnElement[bool]:
    return sa.and_(WALLET_LEASES.c.holder == holder, WALLET_LEASES.c.org == org)


async def _amount(connection: AsyncConnection, holder: str, org: str) -> int:
    query = sa.select(WALLET_LEASES.c.amount).where(_lease(holder, org)).with_for_update()
    return await connection.scalar(query) or 0


async def _unheld(connection: AsyncConnection, org: str) -> int:
    return await connection.scalar(sa.select(WALLETS.c.balance).where(WALLETS.c.org == org).with_for_update()) or 0


async def _set_unheld(connection: AsyncConnection, org: str, balance: int) -> None:
    await connection.execute(sa.update(WALLETS).where(WALLETS.c.org == org).values(balance=balance))


async def _set(connection: AsyncConnection, holder: str, org: str, amount: int) -> None:
    change = sa.update(WALLET_LEASES).where(_lease(holder, org)).values(amount=amount)
    if (await connection.execute(change)).rowcount == 0:
        await connection.execute(sa.insert(WALLET_LEASES).values(holder=holder, org=org, amount=amount))


async def take(connection: AsyncConnection, holder: str, org: str, wanted: int) -> Grant:
    """Let the holder have ``wanted`` at least: half of what nobody holds, or more; nothing where there is too little.

    Where others hold some, they learn that it is wanted.
    """
    balance = await _unheld(connection, org)
    amount = await _amount(connection, holder, org)
    least = wanted - amount
    if least <= 0:
        return Grant(amount, None)
    wallet = sa.update(WALLETS).where(WALLETS.c.org == org)
    if balance >= least:
        part = max(least, balance // 2)
        await connection.execute(wallet.values(balance=balance - part, wanted_by=None))
        await _set(connection, holder, org, amount + part)
        return Grant(amount + part, None)
    others = sa.select(sa.func.sum(WALLET_LEASES.c.amount)).where(
        WALLET_LEASES.c.org == org, WALLET_LEASES.c.holder != holder
    )
    held = int(await connection.scalar(others) or 0)
    if held:
        await connection.execute(wallet.values(wanted_by=holder))
    return Grant(amount, held)


async def give_back(connection: AsyncConnection, holder: str, org: str, keep: int = 0) -> None:
    """Move what the holder has beyond ``keep`` back."""
    balance = await _unheld(connection, org)
    held = await _amount(connection, holder, org)
    left = min(keep, held)
    await _set_unheld(connection, org, balance + held - left)
    await _set(connection, holder, org, left)


async def end(connection: AsyncConnection, holder: str) -> None:
    """Give back all that a holder has, for good."""
    query = sa.select(WALLET_LEASES.c.org).where(WALLET_LEASES.c.holder == holder).order_by(WALLET_LEASES.c.org)
    for org in list(await connection.scalars(query)):
        await give_back(connection, holder, org)
        await connection.execute(sa.delete(WALLET_LEASES).where(_lease(holder, org)))


async def wanted(connection: AsyncConnection, holder: str) -> list[str]:
    """The organisations of whose wallets the holder has some and another wants some."""
    query = sa.select(WALLETS.c.org).join_from(WALLETS, WALLET_LEASES)
    return list(
        await connection.scalars(
            query.where(WALLET_LEASES.c.holder == holder, WALLET_LEASES.c.amount > 0, WALLETS.c.wanted_by != holder)
        )
    )


async def spend(connection: AsyncConnection, holder: str, org: str, amount: int) -> int:
    """Take ``amount`` out of the holder's lease, or what there is of it; answers how much that was."""
    held = await _amount(connection, holder, org)
    spent = min(amount, held)
    if spent:
        await _set(connection, holder, org, held - spent)
    return spent


async def spend_unheld(connection: AsyncConnection, org: str, amount: int) -> int:
    """The same out of what nobody holds."""
    balance = await _unheld(connection, org)
    spent = min(amount, balance)
    await _set_unheld(connection, org, balance - spent)
    return spent
