"""The page of keys, in the tab that all tests of a file share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.config.settings import Settings
from tests.browser.keys.steps import ADMIN_KEY, ORG, sign_in
from tests.browser.served import database_of, served
from tests.conftest import settings_in


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """With a floor for the organisation that is called as markup."""
    floors = {"whisper_turbo": {f"org:{ORG}": 2}}
    return settings_in(tmp_path_factory.mktemp("keys"), admin_key=ADMIN_KEY, floors=floors)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(settings: Settings) -> AsyncIterator[str]:
    """The address of the application, with an organisation that has a wallet."""
    async with database_of(settings) as engine:
        await Registry(engine).create_org("acme", 600)
        await UsageQueries(engine).top_up("acme", 500_000_000, "invoice 101")
    async with served(settings) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="session")
async def page(tab: Page, url: str) -> Page:
    """Signed in."""
    await tab.goto(f"{url}/keys")
    await sign_in(tab)
    await expect(tab.get_by_role("button", name="Create key")).to_be_visible()
    return tab
