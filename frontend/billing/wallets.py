"""Wallets of organisations that prepay: one row per wallet, and one row per reservation.

Every change locks the wallet's row first. Wallets are locked in the order of their names, which avoids deadlocks.
"""

import asyncio
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.concurrency.background import start_detached, uninterrupted
from frontend.database.engine import DATABASE_FAILURES
from frontend.database.tables import RESERVATIONS, WALLETS
from frontend.errors import BadGateway, InsufficientQuota
from frontend.observe.logs import log

# Seconds from a request's deadline, or from the last renewal, to the expiry of its reservation.
_KEPT_SECONDS = 3_600
# The database's clock, in seconds since 1970: those of the frontends may differ.
_NOW = sa.cast(sa.extract("epoch", sa.func.now()), sa.BigInteger)
_RETRY_SECONDS = 0.1
# The most reservations in a statement; an outage of the database collects more.
_RELEASED_AT_ONCE = 500
# The longest wait for the database, in seconds. Meanwhile a body is in memory.
_WAIT_SECONDS = 5.0
# Seconds of a wallet's transaction after which requests wait before their body is read.
_SLOW_SECONDS = 0.5
_LOOK_SECONDS = 0.25
# The longest wait for reservations of other requests to end, in seconds.
_RELEASE_WAIT_SECONDS = 1.0
_AWAY = "the wallet cannot be read for the moment, retry with backoff"


async def lock(connection: AsyncConnection, org: str) -> int | None:
    """Lock a wallet and return its free micro-CHF; None if there is no wallet."""
    query = sa.select(WALLETS.c.balance).where(WALLETS.c.org == org).with_for_update()
    free: int | None = await connection.scalar(query)
    return free


async def set_free(connection: AsyncConnection, org: str, free: int) -> None:
    """Set the free micro-CHF of a locked wallet."""
    await connection.execute(sa.update(WALLETS).where(WALLETS.c.org == org).values(balance=free))


async def settle(
    connection: AsyncConnection, which: sa.ColumnElement[bool], costs: Mapping[str, int] | None = None
) -> None:
    """End the reservations that match ``which``, and charge ``costs`` (micro-CHF by organisation) to wallets.

    A wallet pays down to 0, and then from the reservations of other requests; the log has the rest.
    """
    costs = costs or {}
    orgs = await connection.scalars(sa.select(RESERVATIONS.c.org).where(which).distinct())
    for org in sorted({*orgs, *costs}):
        free = await lock(connection, org) or 0
        ended = sa.delete(RESERVATIONS).where(which, RESERVATIONS.c.org == org).returning(RESERVATIONS.c.amount)
        free += sum(await connection.scalars(ended)) - costs.get(org, 0)
        if free < 0:
            free += await _take(connection, org, -free)
        if free < 0:
            # An answer cost more than was reserved for it, or was charged after its reservation had ended by itself.
            log.error("charged beyond a wallet", extra={"fields": {"org": org, "unpaid": -free}})
        await set_free(connection, org, max(0, free))


async def _take(connection: AsyncConnection, org: str, owed: int) -> int:
    """Take up to ``owed`` micro-CHF from the reservations of a locked wallet, and return how much it was.

    Otherwise their release would give back what another request has spent.
    """
    taken = 0
    rows = await connection.execute(sa.select(RESERVATIONS).where(RESERVATIONS.c.org == org, RESERVATIONS.c.amount > 0))
    for row in rows.all():
        part = min(row.amount, owed - taken)
        change = sa.update(RESERVATIONS).where(RESERVATIONS.c.id == row.id)
        await connection.execute(change.values(amount=row.amount - part))
        taken += part
        if taken == owed:
            break
    return taken


@dataclass(eq=False)
class _Request:
    """A reservation that a request waits for. It expires after so many ``seconds``."""

    amount: int
    seconds: int
    granted: asyncio.Future[bool]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass
class _PendingWork:
    """The pending work of one wallet; ``reserved`` is the sum of reservations when it was last too small."""

    requests: list[_Request] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    reserved: int = 0
    task: asyncio.Task[None] | None = None
    # Since when the database does not answer (loop seconds).
    began: float = math.inf


_NONE = _PendingWork()


class Wallets:
    """Reserves money for ``holder``. Requests of an organisation that come during a transaction share the next one."""

    def __init__(self, engine: AsyncEngine, holder: str) -> None:
        self._engine, self._holder, self._closing = engine, holder, False
        self._pending: dict[str, _PendingWork] = {}

    async def close(self) -> None:
        """Wait for the transactions in progress."""
        self._closing = True
        await asyncio.gather(
            *(pending.task for pending in self._pending.values() if pending.task), return_exceptions=True
        )

    async def reserve(self, org: str, amount: int, deadline: float) -> str:
        """Reserve ``amount`` micro-CHF and return the reservation's id, empty if ``amount`` is 0.

        Raises ``InsufficientQuota`` if the wallet has less, and ``BadGateway`` if the database does not answer within
        seconds, or by ``deadline`` (loop seconds).
        """
        if not amount:
            return ""
        loop, pending = asyncio.get_running_loop(), self._pending.setdefault(org, _PendingWork())
        gives_up_at = loop.time() + _RELEASE_WAIT_SECONDS
        seconds = int(deadline - loop.time()) + _KEPT_SECONDS
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + _WAIT_SECONDS)):
                while True:
                    request = _Request(amount, seconds, loop.create_future())
                    pending.requests.append(request)
                    self._start_work(org, pending)
                    try:
                        granted = await request.granted
                    except asyncio.CancelledError:
                        # It may have been granted in the meantime, or be about to be.
                        self.release(org, request.id)
                        raise
                    if granted:
                        return request.id
                    if not pending.reserved or loop.time() > gives_up_at:
                        raise InsufficientQuota("the balance does not cover this request")
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError:
            raise BadGateway(_AWAY) from None

    async def ready(self, org: str) -> None:
        """Wait while the database does not answer for this wallet. Raises ``BadGateway`` if that takes seconds."""
        loop, pending = asyncio.get_running_loop(), self._pending.get(org, _NONE)
        gives_up_at = loop.time() + _WAIT_SECONDS
        while loop.time() - pending.began > _SLOW_SECONDS:
            if loop.time() > gives_up_at:
                raise BadGateway(_AWAY)
            await asyncio.sleep(_LOOK_SECONDS)

    def release(self, org: str, reservation: str) -> None:
        """End a reservation without a charge."""
        pending = self._pending[org]
        pending.released.append(reservation)
        self._start_work(org, pending)

    @uninterrupted
    async def renew(self) -> None:
        """Let no reservation of this holder expire: an answer may take hours to read."""
        columns = RESERVATIONS.c
        ends_soon = sa.and_(columns.holder == self._holder, columns.expires_at < _NOW + _KEPT_SECONDS // 2)
        # Another transaction may be about to end those that it has locked.
        due = sa.select(columns.id).where(ends_soon).with_for_update(skip_locked=True)
        async with self._engine.begin() as connection:
            change = sa.update(RESERVATIONS).where(columns.id.in_(due))
            await connection.execute(change.values(expires_at=_NOW + _KEPT_SECONDS))

    @uninterrupted
    async def end_expired(self) -> None:
        """End expired reservations, of frontends that are lost with their disks."""
        async with self._engine.begin() as connection:
            await settle(connection, RESERVATIONS.c.expires_at < _NOW)

    def _start_work(self, org: str, pending: _PendingWork) -> None:
        if pending.task is None or pending.task.done():
            pending.task = start_detached(self._work(org, pending))

    async def _work(self, org: str, pending: _PendingWork) -> None:
        """Run transactions until a wallet has no pending work."""
        uncertain: list[str] = []
        pending.began = asyncio.get_running_loop().time()
        while pending.requests or pending.released:
            requests, pending.requests = [request for request in pending.requests if not request.granted.done()], []
            released, pending.released = pending.released[:_RELEASED_AT_ONCE], pending.released[_RELEASED_AT_ONCE:]
            try:
                async with self._engine.begin() as connection:
                    if ended := released + uncertain:
                        await settle(connection, RESERVATIONS.c.id.in_(ended))
                    granted = await self._grant(connection, org, pending, requests)
            except DATABASE_FAILURES:
                if self._closing:
                    return
                # The transaction may be committed: end its reservations before the next try.
                pending.requests[:0], pending.released[:0] = requests, released
                uncertain = [request.id for request in requests]
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            uncertain = []
            pending.began = asyncio.get_running_loop().time()
            for request in requests:
                if not request.granted.done():
                    request.granted.set_result(request in granted)
        pending.began = math.inf

    async def _grant(
        self, connection: AsyncConnection, org: str, pending: _PendingWork, requests: Sequence[_Request]
    ) -> set[_Request]:
        """Reserve as many requests as the wallet covers, first come, first served."""
        free = (await lock(connection, org) or 0) if requests else 0
        granted = set()
        for request in requests:
            if request.amount <= free:
                free -= request.amount
                granted.add(request)
        if granted:
            await set_free(connection, org, free)
            rows = [
                {
                    "id": request.id,
                    "holder": self._holder,
                    "org": org,
                    "amount": request.amount,
                    "seconds": request.seconds,
                }
                for request in granted
            ]
            expiry = _NOW + sa.bindparam("seconds", type_=sa.BigInteger)
            await connection.execute(sa.insert(RESERVATIONS).values(expires_at=expiry), rows)
        if len(granted) < len(requests):
            reserved = sa.select(sa.func.sum(RESERVATIONS.c.amount)).where(RESERVATIONS.c.org == org)
            pending.reserved = int(await connection.scalar(reserved) or 0)
        return granted
