"""A key of an organisation, calls that cost money, and the charges of the application."""

import sqlite3
from typing import Any, NoReturn

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import AUDIT, RESERVATIONS, USAGE_EVENTS, WALLETS
from tests.conftest import KEY, Client, bearer
from tests.fakes import add_key

ORG_KEY = api_key.new_key()
TEXT = "Hello there."
# In micro-CHF, at 5 per code point.
COST = 5 * len(TEXT)


class Books:
    """The wallets in one database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def top_up(self, org: str, amount: int) -> None:
        """Add ``amount`` micro-CHF to a wallet, as the log says to frontends."""
        noted = {"actor": "test", "origin": "", "action": "wallet.top_up", "target": org, "details": "{}", "at": 0}
        added = update(WALLETS).where(WALLETS.c.org == org).values(balance=WALLETS.c.balance + amount)
        async with self._engine.begin() as connection:
            if not (await connection.execute(added)).rowcount:
                await connection.execute(insert(WALLETS).values(org=org, balance=amount))
            await connection.execute(insert(AUDIT).values(**noted))

    async def balance(self, org: str) -> int | None:
        """What a wallet holds, with what is reserved; None if there is none."""
        reserved = select(func.coalesce(func.sum(RESERVATIONS.c.amount), 0)).where(RESERVATIONS.c.org == org)
        async with self._engine.connect() as connection:
            free: int | None = await connection.scalar(select(WALLETS.c.balance).where(WALLETS.c.org == org))
            return None if free is None else free + int(await connection.scalar(reserved) or 0)


async def other_key(settings: Settings, **values: Any) -> str:
    """Create a key with these values."""
    key, engine = api_key.new_key(), open_engine(settings.database)
    await add_key(engine, key, **values)
    await engine.dispose()
    return key


def find_disk_full(*arguments: object) -> NoReturn:
    """Raise the error that SQLite raises on a full disk."""
    raise sqlite3.OperationalError("database or disk is full")


async def charges(client: Client, settings: Settings) -> list[dict[str, Any]]:
    """Close the application and return every row of the ledger."""
    await client.close()
    engine = open_engine(settings.database)
    async with engine.connect() as connection:
        rows = [dict(row._mapping) for row in await connection.execute(select(USAGE_EVENTS))]
    await engine.dispose()
    return rows


async def speak(client: Client, text: str = TEXT, *, key: str = KEY, **headers: str) -> tuple[int, Any]:
    """Request speech; return the status, and the audio or the error."""
    said = {"input": text, "voice": "amy"}
    async with client.post("/v1/audio/speech", json=said, headers=bearer(key) | headers) as response:
        return response.status, (await response.read() if response.status == 200 else (await response.json())["error"])
