"""The dashboard of keys with usage, in the tab that all tests of a file share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page

from frontend.administration.usage.queries import UsageQueries
from frontend.config.settings import Settings
from tests.browser.dashboard.ledger import NOW, Account, fill, opened
from tests.browser.served import database_of, served
from tests.conftest import settings_in

# Keeps what is written on the chart, which is a picture.
_KEEP_LABELS = """
window.labels = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.labels.push(text);
  fillText.call(this, text, ...place);
};
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_in(tmp_path_factory.mktemp("dashboard"))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def accounts(settings: Settings) -> dict[str, Account]:
    async with database_of(settings) as engine:
        return await fill(engine)


@pytest_asyncio.fixture(loop_scope="session")
async def books(settings: Settings, accounts: dict[str, Account]) -> AsyncIterator[UsageQueries]:
    async with database_of(settings) as engine:
        yield UsageQueries(engine)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(settings: Settings, accounts: dict[str, Account]) -> AsyncIterator[str]:
    async with served(settings) as address:
        yield f"{address}/dashboard"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def clocked(tab: Page) -> Page:
    await tab.clock.set_fixed_time(NOW)
    await tab.add_init_script(_KEEP_LABELS)
    return tab


@pytest_asyncio.fixture(loop_scope="session")
async def page(clocked: Page, url: str, accounts: dict[str, Account]) -> AsyncIterator[Page]:
    yield await opened(clocked, url, accounts["first"].key)
    await clocked.unroute_all()
