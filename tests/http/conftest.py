"""Applications for the tests of a file or of one test, the ledger, a chat server, and the administration."""

import dataclasses
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from tests.charges import ORG_KEY, Books
from tests.conftest import Client, running, settings_in
from tests.fakes import FakeTriton, add_key, add_org
from tests.http.calls import ADMIN_KEY
from tests.upstream import Upstream


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    request: pytest.FixtureRequest, database: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Client, FakeTriton]]:
    """For files whose tests run in one event loop and leave it as it was: starting one takes longer than most tests.

    The settings are those of the file's ``SETTINGS``.
    """
    folder, triton = tmp_path_factory.mktemp("shared"), FakeTriton()
    shutil.copy(database, folder / "quartet.sqlite3")
    values = {"wrong_keys_a_minute": 0, "unpaid_seconds": 1000.0, **getattr(request.module, "SETTINGS", {})}
    async with running(settings_in(folder, **values), triton) as connected:
        yield connected, triton


def _shares(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("asyncio")
    return marker is not None and marker.kwargs.get("loop_scope") == "module"


@pytest.fixture
def triton(request: pytest.FixtureRequest) -> FakeTriton:
    """A new one, or the shared one reset."""
    new = FakeTriton()
    if not _shares(request):
        return new
    shared: FakeTriton = request.getfixturevalue("shared")[1]
    vars(shared).update(vars(new))
    return shared


@pytest.fixture
async def own(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    async with running(settings, triton) as connected:
        yield connected


@pytest.fixture
def client(request: pytest.FixtureRequest, triton: FakeTriton) -> Client:
    """Of the application that the tests of a file share, or of one for this test."""
    found: Client = request.getfixturevalue("shared")[0] if _shares(request) else request.getfixturevalue("own")
    return found


@pytest.fixture
async def books(settings: Settings) -> AsyncIterator[Books]:
    """The ledger of the application, with a key of an organisation."""
    engine = open_engine(settings.database)
    await add_org(engine, "acme")
    await add_key(engine, ORG_KEY, org="acme")
    yield Books(engine)
    await engine.dispose()


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    running = Upstream()
    await running.server.start_server()
    yield running
    await running.server.close()


@pytest.fixture
async def admin(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    """The application with an admin key, which every request carries."""
    own = dataclasses.replace(settings, admin_key=ADMIN_KEY)
    async with running(own, triton, ADMIN_KEY) as connected:
        yield connected
