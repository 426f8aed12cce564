"""A key of an organisation, calls that cost money, and the charges of the application."""

import sqlite3
from typing import Any, NoReturn

from sqlalchemy import select

from frontend.access import api_key
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from tests.conftest import KEY, Client, bearer
from tests.fakes import add_key

ORG_KEY = api_key.new_key()
TEXT = "Hello there."
# In micro-CHF, at 5 per code point.
COST = 5 * len(TEXT)


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
