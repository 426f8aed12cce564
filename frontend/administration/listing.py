"""Queries that list and search keys and organisations."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from frontend.access import api_key
from frontend.access.stored_keys import alive, end
from frontend.administration.paging import Page, fetch_page
from frontend.database.tables import KEYS, ORGS, SECRETS


@dataclass(frozen=True)
class KeyEntry:
    """One secret of a key, for lists. Times are seconds since 1970."""

    id: str
    prefix: str
    name: str
    tier: str
    org: str | None
    limits: Mapping[str, int]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


@dataclass(frozen=True)
class KeyFilter:
    """``text`` is part of a name or organisation, or starts a key; ``active`` leaves out expired and revoked keys."""

    text: str = ""
    org: str | None = None
    active: bool = False

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        conditions = []
        if self.text:
            within = [column.icontains(self.text, autoescape=True) for column in (KEYS.c.name, KEYS.c.org)]
            beginning = SECRETS.c.prefix.startswith(api_key.prefix(self.text), autoescape=True)
            conditions.append(sa.or_(*within, beginning))
        if self.org is not None:
            conditions.append(KEYS.c.org == self.org)
        return [*conditions, *alive()] if self.active else conditions


EVERY_KEY = KeyFilter()


async def keys(connection: AsyncConnection, search: KeyFilter, page: Page) -> list[KeyEntry]:
    """One entry for each secret of each key that matches."""
    columns = (KEYS.c.id, SECRETS.c.prefix, KEYS.c.name, KEYS.c.tier, KEYS.c.org, KEYS.c.limits)
    times = (
        SECRETS.c.created_at,
        SECRETS.c.last_used_at,
        KEYS.c.expires_at,
        SECRETS.c.expires_at.label("secret_expires_at"),
        KEYS.c.revoked_at,
    )
    query = sa.select(*columns, *times).join_from(SECRETS, KEYS).where(*search.conditions())
    rows = await fetch_page(connection, query, page, (SECRETS.c.created_at, SECRETS.c.prefix))
    # Thousands of rows would block the event loop.
    return await asyncio.to_thread(lambda: list(map(_entry, rows)))


def _entry(row: Any) -> KeyEntry:
    values = row._asdict() | {"limits": json.loads(row.limits), "expires_at": end(row)}
    del values["secret_expires_at"]
    return KeyEntry(**values)


async def orgs(connection: AsyncConnection, text: str, page: Page) -> list[tuple[str, int | None, int]]:
    """(name, requests per minute, number of keys) of every organisation with ``text`` in its name."""
    count = sa.select(sa.func.count()).where(KEYS.c.org == ORGS.c.name).scalar_subquery().label("number")
    query = sa.select(ORGS.c.name, ORGS.c.requests_per_minute, count)
    if text:
        query = query.where(ORGS.c.name.icontains(text, autoescape=True))
    rows = await fetch_page(connection, query, page, (ORGS.c.name,))
    return [(row.name, row.requests_per_minute, row.number) for row in rows]
