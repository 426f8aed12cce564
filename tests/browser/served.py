"""The application behind an address, for a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.registry import Registry
from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.conftest import ProductServer
from tests.fakes import FakeTriton, add_key


@asynccontextmanager
async def database_of(settings: Settings) -> AsyncIterator[AsyncEngine]:
    """Its database, at this version's tables."""
    engine = open_engine(settings.database)
    await migrate(engine)
    yield engine
    await engine.dispose()


@asynccontextmanager
async def served(settings: Settings, triton: FakeTriton | None = None) -> AsyncIterator[str]:
    """Its address, without a slash in the end."""
    server = ProductServer(create_app(settings, connect=lambda address: triton or FakeTriton()), settings)
    await server.start_server()
    yield str(server.make_url("/")).rstrip("/")
    await server.close()


@asynccontextmanager
async def served_with_key(
    settings: Settings, key: str, org: str, triton: FakeTriton | None = None
) -> AsyncIterator[str]:
    """The address of an application that knows a key of an organisation."""
    async with database_of(settings) as engine:
        await Registry(engine).create_org(org, None)
        await add_key(engine, key, org=org)
    async with served(settings, triton) as address:
        yield address


async def open_with_key(tab: Page, url: str, key: str, path: str) -> None:
    """A page in a tab that has an API key."""
    await tab.goto(f"{url}/health/live")
    await tab.evaluate("key => sessionStorage.setItem('quartet-key', key)", key)
    await tab.goto(f"{url}{path}")
