"""A database of each kind with organisations, and events to write into it."""

import uuid
from collections.abc import AsyncIterator, Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.registry import Registry
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.usage.books import Books
from frontend.usage.events import UsageEvent
from frontend.usage.ledger import Ledger, Repeats

Makes = Callable[..., UsageEvent]


@pytest.fixture
async def engine(empty_database: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(empty_database)
    await migrate(opened)
    for org in ("acme", "zenith"):
        await Registry(opened).create_org(org, None)
    yield opened
    await opened.dispose()


@pytest.fixture
async def books(engine: AsyncEngine) -> Books:
    return Books(engine)


def event(name: str, amount: int = 5, *, org: str | None = "acme", prepaid: bool = True, at: int = 0) -> UsageEvent:
    """One answer of the speech endpoint that cost ``amount``."""
    return UsageEvent(name, name, "key", org, "speech", "tts-1", 1, "million_characters", 5, amount, prepaid, at)


async def write(engine: AsyncEngine, *events: UsageEvent) -> None:
    """Put answers into the ledger, as a frontend does that had no others before."""
    await Ledger(engine, uuid.uuid4().hex, Repeats()).write(list(enumerate(events, 1)))


@pytest.fixture
def broken(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every connection of the engine fail, as a database that is away does."""

    def refuse(*arguments: object, **options: object) -> None:
        raise ConnectionRefusedError("the database is away")

    def break_off() -> None:
        monkeypatch.setattr(type(engine), "begin", refuse)
        monkeypatch.setattr(type(engine), "connect", refuse)

    return break_off


@pytest.fixture
def mended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes that back."""
    return monkeypatch.undo
