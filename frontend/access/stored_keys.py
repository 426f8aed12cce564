"""API keys in the database, as requests find them."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.caller import Caller
from frontend.concurrency.background import uninterrupted
from frontend.database.engine import reading
from frontend.database.tables import AUDIT, KEYS, ORGS, SECRETS, WALLETS

# The shortest time between two updates of the time at which a secret was last used.
_USED_SECONDS = 60


@dataclass(frozen=True)
class AuditEntry:
    """One change; ``at`` is in seconds since 1970."""

    id: int
    at: int
    actor: str
    origin: str
    action: str
    target: str
    details: Mapping[str, Any]


class StoredKeys:
    """Finds keys in one database, and the changes of keys, organisations and wallets in its audit log."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine, self._reader = engine, reading(engine)

    @uninterrupted
    async def find(self, digests: Collection[str]) -> dict[str, Caller]:
        """The callers by digest of a key. Unknown, expired and revoked keys are left out."""
        columns = (SECRETS.c.digest, KEYS.c.id, KEYS.c.name, KEYS.c.tier, KEYS.c.org, KEYS.c.limits)
        ends = (KEYS.c.expires_at, SECRETS.c.expires_at.label("secret_expires_at"), ORGS.c.requests_per_minute)
        prepaid = WALLETS.c.org.label("wallet")
        query = select(*columns, *ends, prepaid).join_from(SECRETS, KEYS).outerjoin(ORGS)
        query = query.outerjoin(WALLETS, WALLETS.c.org == KEYS.c.org).where(*alive())
        async with self._reader.connect() as connection:
            rows = await connection.execute(query.where(SECRETS.c.digest.in_(digests)))
            return {row.digest: _caller(row) for row in rows}

    @uninterrupted
    async def note_used(self, digests: Collection[str]) -> None:
        """Write that keys were used now. It skips rows that another transaction has locked."""
        now = int(time.time())
        old = or_(SECRETS.c.last_used_at.is_(None), SECRETS.c.last_used_at <= now - _USED_SECONDS)
        due = select(SECRETS.c.digest).where(SECRETS.c.digest.in_(digests), old).with_for_update(skip_locked=True)
        async with self._engine.begin() as connection:
            await connection.execute(update(SECRETS).where(SECRETS.c.digest.in_(due)).values(last_used_at=now))

    @uninterrupted
    async def newest_change(self) -> int:
        """The id of the newest change; 0 if there is none."""
        async with self._reader.connect() as connection:
            return await connection.scalar(select(func.max(AUDIT.c.id))) or 0

    @uninterrupted
    async def changes_from(self, first: int, others: Collection[int], most: int) -> list[AuditEntry]:
        """Changes from id ``first`` on, and those with the ids ``others``, in order; at most ``most``."""
        number = AUDIT.c.id
        query = select(AUDIT).where(number >= min([first, *others]), or_(number >= first, number.in_(others)))
        async with self._reader.connect() as connection:
            return list(map(audit_entry, await connection.execute(query.order_by(number).limit(most))))


def alive() -> list[ColumnElement[bool]]:
    """SQL conditions for an active secret: neither it nor its key is revoked or expired."""
    now = int(time.time())
    return [
        KEYS.c.revoked_at.is_(None),
        or_(KEYS.c.expires_at.is_(None), KEYS.c.expires_at > now),
        or_(SECRETS.c.expires_at.is_(None), SECRETS.c.expires_at > now),
    ]


def end(row: Any) -> int | None:
    """The expiry of a secret or of its key, whichever is earlier, in seconds since 1970."""
    ends = [end for end in (row.expires_at, row.secret_expires_at) if end is not None]
    return min(ends, default=None)


def audit_entry(row: Any) -> AuditEntry:
    return AuditEntry(row.id, row.at, row.actor, row.origin, row.action, row.target, json.loads(row.details))


def _caller(row: Any) -> Caller:
    return Caller(
        id=row.id,
        name=row.name,
        tier=row.tier,
        org=row.org or None,
        org_limit=row.requests_per_minute,
        limits=json.loads(row.limits),
        expires_at=end(row),
        prepaid=row.wallet is not None,
    )
