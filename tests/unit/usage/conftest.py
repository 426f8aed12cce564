"""A database of each kind with organisations, and events to write into it."""

import errno
import uuid
from collections.abc import AsyncIterator, Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access.registry import Registry
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.usage.ballast import Ballast
from frontend.usage.books import Books
from frontend.usage.events import UsageEvent
from frontend.usage.ledger import Ledger, Repeats
from frontend.usage.spool import Spool

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


class FullDisk:
    """A disk on which a spool finds no room for more pages than it has, but for what its ballast gives up."""

    def __init__(self, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
        self._spool, give_up = spool, Ballast.give_up

        def make_room(ballast: Ballast, *, keep_last: bool) -> bool:
            given = give_up(ballast, keep_last=keep_last)
            if given:
                self._limit(16)
            return given

        def no_room(ballast: Ballast) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self._limit(0)
        monkeypatch.setattr(Ballast, "give_up", make_room)
        monkeypatch.setattr(Ballast, "fill", no_room)

    def _limit(self, more: int) -> None:
        (pages,) = self._spool._database.execute("PRAGMA page_count").fetchone()
        self._spool._database.execute(f"PRAGMA max_page_count={pages + more}")
