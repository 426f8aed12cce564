"""A key of an organisation, calls that cost money, and the charges of the application."""

import sqlite3
from typing import Any, NoReturn

from sqlalchemy import select

from frontend.access import api_key
from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from tests.conftest import KEY, Client, bearer
from tests.fakes import add_key

ORG_KEY = api_key.new_key()
TEXT = "Hello there."
# At 5 micro-CHF a code point.
COST = 5 * len(TEXT)


async def other_key(settings: Settings, **values: Any) -> str:
    """A new key with these values."""
    key, engine = api_key.new_key(), open_engine(settings.database)
    await add_key(Registry(engine), key, **values)
    await engine.dispose()
    return key


def find_disk_full(*arguments: object) -> NoReturn:
    """What a spool does on a full disk."""
    raise sqlite3.OperationalError("database or disk is full")


async def charges(client: Client, settings: Settings) -> list[dict[str, Any]]:
    """Every row of the ledger, after the application has ended."""
    await client.close()
    engine = open_engine(settings.database)
    async with engine.connect() as connection:
        rows = [dict(row._mapping) for row in await connection.execute(select(USAGE_EVENTS))]
    await engine.dispose()
    return rows


async def speak(client: Client, text: str = TEXT, *, key: str = KEY, **headers: str) -> tuple[int, Any]:
    """The status, and the audio or the error."""
    said = {"input": text, "voice": "amy"}
    async with client.post("/v1/audio/speech", json=said, headers=bearer(key) | headers) as response:
        return response.status, (await response.read() if response.status == 200 else (await response.json())["error"])
