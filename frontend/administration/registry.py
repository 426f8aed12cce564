"""API keys and organisations, as operators manage them."""

import copy
import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, false, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from frontend.access import api_key
from frontend.access.stored_keys import AuditEntry, StoredKeys
from frontend.administration import audit, listing
from frontend.administration.audit import Actor, AuditFilter
from frontend.administration.listing import EVERY_KEY, KeyEntry, KeyFilter
from frontend.administration.names import LONGEST_NAME, MissingError, RegistryError, check_name, check_org
from frontend.administration.paging import EVERYTHING, Page
from frontend.concurrency.background import uninterrupted
from frontend.database.tables import KEYS, ORGS, SECRETS

# Seconds for which the old secret works after a rotation, by default.
ROTATION_OVERLAP_SECONDS = 86_400
# The longest lifetime of a key or an old secret: a hundred years.
LONGEST_SECONDS = 100 * 365 * 86_400


def _now() -> int:
    return int(time.time())


class Registry(StoredKeys):
    """Keys and organisations in one database. Any secret of a key, or the prefix of a secret, identifies the key.

    Changes go to the audit log, under the user of this process or the ``acting`` one.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self._actor = Actor.of_process()

    def acting(self, actor: Actor) -> "Registry":
        """A copy that writes ``actor`` to the audit log."""
        acting = copy.copy(self)
        acting._actor = actor
        return acting

    @uninterrupted
    async def create(
        self, name: str, tier: str, org: str | None, limits: Mapping[str, int], expires_at: int | None
    ) -> str:
        """Make a key and return it. It cannot be read again."""
        check_name("the name of a key", name, LONGEST_NAME)
        key, key_id = api_key.new_key(), uuid.uuid4().hex
        details = {"name": name, "tier": tier, "org": org, "limits": dict(limits), "expires_at": expires_at}
        row = details | {"id": key_id, "limits": json.dumps(dict(limits)), "created_at": _now()}
        async with self._engine.begin() as connection:
            await self._check_org(connection, org)
            await connection.execute(insert(KEYS).values(**row))
            await self._add_secret(connection, key, key_id)
            await self._note(connection, "key.create", api_key.prefix(key), id=key_id, **details)
        return key

    @uninterrupted
    async def rotate(self, named: str, overlap: int) -> str:
        """Give a key a new secret and return it. The old ones work for ``overlap`` more seconds."""
        key = api_key.new_key()
        async with self._engine.begin() as connection:
            key_id = await self._key_id(connection, named)
            end = _now() + overlap
            still = or_(SECRETS.c.expires_at.is_(None), SECRETS.c.expires_at > end)
            await connection.execute(update(SECRETS).where(SECRETS.c.key_id == key_id, still).values(expires_at=end))
            await self._add_secret(connection, key, key_id)
            details = {"id": key_id, "overlap": overlap, "new": api_key.prefix(key)}
            await self._note(connection, "key.rotate", api_key.prefix(named), **details)
        return key

    @uninterrupted
    async def revoke(self, named: str) -> None:
        """Revoke a key with all its secrets. This cannot be undone."""
        async with self._engine.begin() as connection:
            key_id = await self._key_id(connection, named)
            await connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(revoked_at=_now()))
            await self._note(connection, "key.revoke", api_key.prefix(named), id=key_id)

    @uninterrupted
    async def change(self, named: str, values: Mapping[str, Any], limits: Mapping[str, int | None]) -> None:
        """Set columns (name, tier, org, expires_at) of a key, and limits by name. None removes a limit."""
        if "name" in values:
            check_name("the name of a key", values["name"], LONGEST_NAME)
        async with self._engine.begin() as connection:
            key_id = await self._key_id(connection, named)
            await self._check_org(connection, values.get("org"))
            stored = await connection.execute(select(KEYS.c.limits).where(KEYS.c.id == key_id))
            merged = json.loads(stored.scalar_one()) | dict(limits)
            kept = {name: number for name, number in merged.items() if number is not None}
            change = update(KEYS).where(KEYS.c.id == key_id)
            await connection.execute(change.values(**values, limits=json.dumps(kept)))
            details = {**values, "limits": dict(limits)} if limits else values
            await self._note(connection, "key.change", api_key.prefix(named), id=key_id, **details)

    @uninterrupted
    async def entries(self, search: KeyFilter = EVERY_KEY, page: Page = EVERYTHING) -> list[KeyEntry]:
        """One page of the secrets of matching keys."""
        async with self._reader.connect() as connection:
            return await listing.keys(connection, search, page)

    @uninterrupted
    async def changes(self, audit_filter: AuditFilter, page: Page) -> list[AuditEntry]:
        """One page of the matching changes."""
        async with self._reader.connect() as connection:
            return await audit.changes(connection, audit_filter, page)

    @uninterrupted
    async def key_id(self, named: str) -> str:
        """The id of a key, revoked or not. Usage is recorded under it."""
        async with self._reader.connect() as connection:
            key_id: str | None = await connection.scalar(select(SECRETS.c.key_id).where(_names(named)))
        if key_id is None:
            raise MissingError(f"there is no key {_shown(named)}")
        return key_id

    @uninterrupted
    async def create_org(self, name: str, requests_per_minute: int | None) -> None:
        """Make an organisation. Its keys share ``requests_per_minute``, unless that is None."""
        row = {"name": check_org(name), "requests_per_minute": requests_per_minute, "created_at": _now()}
        try:
            async with self._engine.begin() as connection:
                await connection.execute(insert(ORGS).values(**row))
                await self._note(connection, "org.create", name, requests_per_minute=requests_per_minute)
        except IntegrityError:
            raise RegistryError(f"there is an organisation {name} already", "name") from None

    @uninterrupted
    async def change_org(self, name: str, requests_per_minute: int | None) -> None:
        """Change the limit of an organisation. None removes it."""
        async with self._engine.begin() as connection:
            await self._check_org(connection, name)
            change = update(ORGS).where(ORGS.c.name == name)
            await connection.execute(change.values(requests_per_minute=requests_per_minute))
            await self._note(connection, "org.change", name, requests_per_minute=requests_per_minute)

    @uninterrupted
    async def orgs(self, text: str = "", page: Page = EVERYTHING) -> list[tuple[str, int | None, int]]:
        """(name, requests per minute, number of keys) of every organisation with ``text`` in its name."""
        async with self._reader.connect() as connection:
            return await listing.orgs(connection, text, page)

    async def _note(self, connection: AsyncConnection, action: str, target: str, **details: object) -> None:
        await audit.note(connection, self._actor, action, target, **details)

    @staticmethod
    async def _add_secret(connection: AsyncConnection, key: str, key_id: str) -> None:
        row = {"digest": api_key.digest(key), "key_id": key_id, "prefix": api_key.prefix(key)}
        await connection.execute(insert(SECRETS).values(**row, created_at=_now()))

    @staticmethod
    async def _key_id(connection: AsyncConnection, named: str) -> str:
        query = select(SECRETS.c.key_id).join_from(SECRETS, KEYS).where(_names(named))
        key_id: str | None = await connection.scalar(query.where(KEYS.c.revoked_at.is_(None)))
        if key_id is None:
            raise MissingError(f"there is no key {_shown(named)} that is not revoked")
        return key_id

    @staticmethod
    async def _check_org(connection: AsyncConnection, org: str | None) -> None:
        if org is None:
            return
        if not org.isprintable() or await connection.scalar(select(ORGS.c.name).where(ORGS.c.name == org)) is None:
            raise MissingError(f"there is no organisation {org if org.isprintable() else '?'}", "org")


def _names(named: str) -> ColumnElement[bool]:
    """The SQL condition for the secret that ``named`` means: a whole key, or a prefix."""
    if api_key.well_formed(named):
        return SECRETS.c.digest == api_key.digest(named)
    return SECRETS.c.prefix == named if named.isprintable() else false()


def _shown(named: str) -> str:
    """The prefix of a key for messages; the rest is secret."""
    return api_key.prefix(named) if named.isprintable() else "?"
