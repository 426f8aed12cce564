"""What tests of charges, and of the administration, share."""

import dataclasses
from collections.abc import AsyncIterator

import pytest

from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.usage.books import Books
from tests.charges import ORG_KEY
from tests.conftest import Client, running
from tests.fakes import FakeTriton, add_key
from tests.http.administration import ADMIN_KEY
from tests.upstream import Upstream


@pytest.fixture
async def books(settings: Settings) -> AsyncIterator[Books]:
    """The ledger beside the application, with a key of an organisation."""
    engine = open_engine(settings.database)
    await Registry(engine).create_org("acme", None)
    await add_key(Registry(engine), ORG_KEY, org="acme")
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
