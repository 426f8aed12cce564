"""The audit log of keys, organisations and wallets. Each row is written in its change's transaction."""

import asyncio
import json
import os
import pwd
import time
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from frontend.access.stored_keys import AuditEntry, audit_entry
from frontend.administration.paging import Page, fetch_page
from frontend.database.tables import AUDIT

ADMIN_KEY, COMMAND_LINE = "admin key", "command line"
_LONGEST_ORIGIN = 128  # characters


@dataclass(frozen=True)
class Actor:
    """The author of a change. ``origin`` is a network address for the admin key, otherwise the user of the process."""

    kind: str
    origin: str

    @classmethod
    def of_process(cls) -> "Actor":
        """The user of this process."""
        number = os.getuid()
        try:
            return cls(COMMAND_LINE, pwd.getpwuid(number).pw_name)
        except KeyError:
            # A container may run as a user without a name.
            return cls(COMMAND_LINE, str(number))


@dataclass(frozen=True)
class AuditFilter:
    """Changes from ``since`` (seconds since 1970) with these values; "" matches any."""

    since: int = 0
    actor: str = ""
    action: str = ""
    target: str = ""


async def note(connection: AsyncConnection, actor: Actor, action: str, target: str, **details: object) -> None:
    """Write a change within the connection's transaction."""
    row = {"actor": actor.kind, "origin": actor.origin[:_LONGEST_ORIGIN], "action": action, "target": target}
    await connection.execute(sa.insert(AUDIT).values(**row, at=int(time.time()), details=json.dumps(details)))


async def changes(connection: AsyncConnection, audit_filter: AuditFilter, page: Page) -> list[AuditEntry]:
    """One page of the changes that match."""
    query = sa.select(AUDIT).where(AUDIT.c.at >= audit_filter.since)
    for column in (AUDIT.c.actor, AUDIT.c.action, AUDIT.c.target):
        if value := getattr(audit_filter, column.name):
            query = query.where(column == value)
    rows = await fetch_page(connection, query, page, (AUDIT.c.at, AUDIT.c.id))
    return await asyncio.to_thread(lambda: list(map(audit_entry, rows)))
