"""/docs/reference in Debian's Chromium before a fake Triton."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.config.settings import Settings
from frontend.pages.openapi import document
from tests.browser.barriers import barriers
from tests.browser.served import served
from tests.conftest import settings_in

pytestmark = pytest.mark.asyncio(loop_scope="session")

_EVERYTHING: dict[str, Any] = {"chat_upstream": "http://127.0.0.1:1/v1", "extensions": "all"}


def _operations() -> dict[str, dict[str, Any]]:
    paths = document(Settings(**_EVERYTHING))["paths"]
    return {operation["operationId"]: operation for item in paths.values() for operation in item.values()}


_EXAMPLES = {
    name: content["application/json"]["example"]
    for name, operation in _operations().items()
    if "application/json" in (content := operation.get("requestBody", {}).get("content", {}))
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    settings = settings_in(tmp_path_factory.mktemp("reference"), **_EVERYTHING)
    async with served(settings) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(tab: Page, url: str) -> Page:
    await tab.goto(f"{url}/docs/reference")
    await expect(tab.locator("#Error")).to_be_visible()
    return tab


async def test_every_operation_is_shown(page: Page) -> None:
    ids = await page.locator("section.operation").evaluate_all("sections => sections.map((section) => section.id)")
    assert ids == list(_operations())


@pytest.mark.parametrize("name", _EXAMPLES)
async def test_an_operation_has_its_example_as_a_command(page: Page, name: str) -> None:
    command = await page.locator(f"#{name} pre.command").inner_text()
    assert json.loads(command.split("-d '")[1].rstrip("'")) == _EXAMPLES[name]


async def test_the_page_has_no_forms(page: Page) -> None:
    assert await page.locator("form, input, textarea").count() == 0


async def test_a_type_leads_to_its_schema(page: Page) -> None:
    await page.locator("#createEmbedding").get_by_role("link", name="EmbeddingList").click()
    await expect(page.locator("#EmbeddingList table")).to_be_in_viewport()


async def test_the_reference_has_no_barriers(page: Page) -> None:
    await page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    assert await barriers(page) == []
