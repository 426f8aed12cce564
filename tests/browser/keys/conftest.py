"""The page of keys, in the tab that all tests of a file share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.usage.books import Books
from tests.browser.keys.steps import ADMIN_KEY, ORG, sign_in
from tests.browser.served import served
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """With a floor for the organisation that is called as markup."""
    folder = tmp_path_factory.mktemp("keys")
    return Settings(
        model_repository=ROOT / "model_repository",
        database=f"sqlite:///{folder}/quartet.sqlite3",
        usage_folder=folder / "usage",
        audio_workers=1,
        admin_key=ADMIN_KEY,
        floors={"whisper_turbo": {f"org:{ORG}": 2}},
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(settings: Settings) -> AsyncIterator[str]:
    """The address of the application, with an organisation that has a wallet."""
    engine = open_engine(settings.database)
    await migrate(engine)
    await Registry(engine).create_org("acme", 600)
    await Books(engine).top_up("acme", 500_000_000, "invoice 101")
    await engine.dispose()
    async with served(settings) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="module")
async def page(tab: Page, url: str) -> Page:
    """Signed in."""
    await tab.goto(f"{url}/keys")
    await sign_in(tab)
    await expect(tab.get_by_role("button", name="Create key")).to_be_visible()
    return tab
