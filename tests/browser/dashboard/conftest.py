"""The dashboard of keys with usage, in the tab that all tests of a file share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page

from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.usage.books import Books
from tests.browser.dashboard.ledger import NOW, Account, fill, opened
from tests.browser.served import served
from tests.conftest import ROOT

# Keeps what is written on the chart, which is a picture.
_KEEP_LABELS = """
window.labels = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.labels.push(text);
  fillText.call(this, text, ...place);
};
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("dashboard")
    return Settings(
        model_repository=ROOT / "model_repository",
        database=f"sqlite:///{folder}/quartet.sqlite3",
        usage_folder=folder / "usage",
        audio_workers=1,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def accounts(settings: Settings) -> dict[str, Account]:
    engine = open_engine(settings.database)
    await migrate(engine)
    found = await fill(engine)
    await engine.dispose()
    return found


@pytest_asyncio.fixture(loop_scope="module")
async def books(settings: Settings, accounts: dict[str, Account]) -> AsyncIterator[Books]:
    engine = open_engine(settings.database)
    yield Books(engine)
    await engine.dispose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(settings: Settings, accounts: dict[str, Account]) -> AsyncIterator[str]:
    async with served(settings) as address:
        yield f"{address}/dashboard"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clocked(tab: Page) -> Page:
    await tab.clock.set_fixed_time(NOW)
    await tab.add_init_script(_KEEP_LABELS)
    return tab


@pytest_asyncio.fixture(loop_scope="module")
async def page(clocked: Page, url: str, accounts: dict[str, Account]) -> AsyncIterator[Page]:
    yield await opened(clocked, url, accounts["first"].key)
    await clocked.unroute_all()
