"""What this frontend may grant of each organisation's wallet: a number in memory, backed by a lease in the database."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.database.engine import DATABASE_FAILURES, reading
from frontend.errors import BadGateway, InsufficientQuota
from frontend.processes.background import forget_outcome
from frontend.usage import leases

_ASK_SECONDS = 0.1
# How long others have to give back what they do not need.
_GIVE_BACK_SECONDS = 1.0
# A wallet found empty is not looked at again for each request.
_EMPTY_SECONDS = 0.5
_RETRY_AFTER = "60"


@dataclass
class _Account:
    """``lease`` as the database has it; of it ``reserved`` for work under way, ``spent`` in unwritten charges.

    ``lease`` is never more than what the database has, but may be less until it is asked the next time.
    """

    lease: int = 0
    reserved: int = 0
    spent: int = 0
    # All that was ever written.
    written: int = 0
    # Where a refusal holds: until when, and for amounts from what on.
    empty_until: float = 0.0
    too_much: int = 0
    # The lease is moved by one at a time. Charges are written beside that.
    moving: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def used(self) -> int:
        return self.reserved + self.spent

    @property
    def free(self) -> int:
        return self.lease - self.used


class Wallets:
    """Reserves before the work; the database is asked only when a lease runs short, for each organisation apart."""

    def __init__(self, engine: AsyncEngine, holder: str) -> None:
        self._engine, self._reader, self._holder = engine, reading(engine), holder
        self._accounts: dict[str, _Account] = {}
        self._asking: set[asyncio.Task[int | None]] = set()

    async def close(self) -> None:
        """Wait for what the database is being asked."""
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def reserve(self, org: str, amount: int, deadline: float) -> None:
        """Set ``amount`` micro-CHF aside, waiting for the database until ``deadline`` (loop time) if need be.

        Raises ``InsufficientQuota`` where the wallet has less, ``BadGateway`` where nobody can tell in time.
        """
        account = self._accounts.setdefault(org, _Account())
        if account.free < amount:
            if account.empty_until > time.monotonic() and amount >= account.too_much:
                raise _refusal()
            await self._lease_more(org, account, amount, deadline)
        account.reserved += amount

    def release(self, org: str, amount: int) -> None:
        """Give up what was reserved: there was no answer."""
        self._accounts[org].reserved -= amount

    def spend(self, org: str, amount: int) -> None:
        """What was reserved is charged; it is yet to be written."""
        account = self._accounts[org]
        account.reserved -= amount
        account.spent += amount

    def written(self, amounts: Counter[str]) -> None:
        """The database has charges of these ``amounts`` by organisation; repeats among them have cost less there."""
        for org, amount in amounts.items():
            account = self._accounts[org]
            account.spent -= amount
            account.lease -= amount
            account.written += amount

    async def tend(self) -> None:
        """Give back what others want and this frontend does not need."""
        if not self._accounts:
            return
        async with self._reader.connect() as connection:
            wanted = await leases.wanted(connection, self._holder)
        outcomes = await asyncio.gather(*map(self._give_back, wanted), return_exceptions=True)
        if errors := [error for error in outcomes if error is not None]:
            raise errors[0]

    async def _give_back(self, org: str) -> None:
        account = self._accounts[org]
        async with account.moving:
            # Not to be granted from here on, whatever becomes of the transaction; the next question tells the truth.
            keep = account.lease = account.used
            async with self._engine.begin() as connection:
                await leases.give_back(connection, self._holder, org, keep)

    async def _lease_more(self, org: str, account: _Account, amount: int, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        hopeless_at = loop.time() + _GIVE_BACK_SECONDS
        while True:
            asking = asyncio.create_task(self._ask(org, account, amount))
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
            asking.add_done_callback(forget_outcome)
            try:
                # A caller who hangs up must not break a transaction off.
                to_come = await asyncio.shield(asking)
            except DATABASE_FAILURES:
                if loop.time() > deadline:
                    raise BadGateway("the wallet cannot be read for the moment, retry with backoff") from None
            else:
                if account.free >= amount:
                    return
                # None: there was enough, and somebody else was quicker.
                if to_come is not None and (not to_come or loop.time() > hopeless_at):
                    account.empty_until, account.too_much = time.monotonic() + _EMPTY_SECONDS, amount
                    raise _refusal()
            await asyncio.sleep(_ASK_SECONDS)

    async def _ask(self, org: str, account: _Account, amount: int) -> int | None:
        """Lease what is missing; where there is too little, answers what might come to be free yet."""
        async with account.moving:
            if account.free >= amount:
                return None
            before, spent = account.written, account.spent
            async with self._engine.begin() as connection:
                taken = await leases.take(connection, self._holder, org, account.used + amount)
            # What was written meanwhile may be out of the lease already, or not yet.
            account.lease = taken.amount - (account.written - before)
            # What is spent may turn out to be repeats, which cost nothing.
            return None if taken.held_by_others is None else taken.held_by_others + spent


def _refusal() -> InsufficientQuota:
    return InsufficientQuota(
        "the balance does not cover this request", code="insufficient_quota", headers={"Retry-After": _RETRY_AFTER}
    )
