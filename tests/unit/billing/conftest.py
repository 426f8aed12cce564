"""Databases of each kind with organisations, and events."""

import uuid
from collections.abc import AsyncIterator, Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.billing.charges import Spool
from frontend.billing.ledger import Charge, IdempotencyWindow, Ledger
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import RESERVATIONS


@pytest.fixture
async def engine(empty_database: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(empty_database)
    await migrate(opened)
    for org in ("acme", "zenith"):
        await Registry(opened).create_org(org, None)
    yield opened
    await opened.dispose()


@pytest.fixture
async def queries(engine: AsyncEngine) -> UsageQueries:
    return UsageQueries(engine)


def event(
    name: str, amount: int = 5, reservation: str = "", *, org: str | None = "acme", prepaid: bool = True, at: int = 0
) -> Charge:
    """One answer of the speech endpoint that cost ``amount``."""
    return Charge(
        name, name, "key", org, "speech", "tts-1", 1, "million_characters", 5, amount, prepaid, at, reservation
    )


async def write(engine: AsyncEngine, *events: Charge) -> None:
    """Write charges to the ledger, as a new frontend."""
    await Ledger(engine, uuid.uuid4().hex, IdempotencyWindow()).write(list(enumerate(events, 1)))


@pytest.fixture
def broken(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes every connection fail."""

    def refuse(*arguments: object, **options: object) -> None:
        raise ConnectionRefusedError("the database is away")

    def break_off() -> None:
        monkeypatch.setattr(type(engine), "begin", refuse)
        monkeypatch.setattr(type(engine), "connect", refuse)

    return break_off


@pytest.fixture
def mended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes connections work again."""
    return monkeypatch.undo


class FullDisk:
    """A context in which a spool cannot grow."""

    def __init__(self, spool: Spool) -> None:
        self._database, self._patch = spool._database, pytest.MonkeyPatch()

    def __enter__(self) -> None:
        self._patch.setattr("frontend.billing.charges._LEAST_ROOM", 1 << 60)
        (pages,) = self._database.execute("PRAGMA page_count").fetchone()
        self._database.execute(f"PRAGMA max_page_count={pages}")

    def __exit__(self, *error: object) -> None:
        self._patch.undo()
        self._database.execute("PRAGMA max_page_count=4294967294")


async def reserved(engine: AsyncEngine) -> list[int]:
    """All reservations in micro-CHF."""
    async with engine.connect() as connection:
        return sorted(await connection.scalars(sa.select(RESERVATIONS.c.amount)))
