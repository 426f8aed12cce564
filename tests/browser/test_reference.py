"""/docs/reference in Debian's Chromium before a fake Triton."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from frontend.access import api_key
from frontend.config.settings import Settings
from frontend.pages.openapi import document
from tests.browser.barriers import barriers
from tests.browser.conftest import Seen
from tests.browser.served import open_with_key, served_with_key
from tests.conftest import settings_in

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEY = api_key.new_key()
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
    async with served_with_key(settings, KEY, "acme") as address:
        yield address


@pytest_asyncio.fixture(loop_scope="session")
async def page(tab: Page, url: str) -> Page:
    """Of a tab that has a key."""
    await open_with_key(tab, url, KEY, "/docs/reference")
    await expect(tab.locator("#Error")).to_be_visible()
    return tab


async def _send(operation: Locator) -> None:
    await operation.get_by_role("button", name="Send").click()
    await expect(operation.get_by_role("status")).to_contain_text("Answered")


async def test_every_operation_is_shown(page: Page) -> None:
    ids = await page.locator("section.operation").evaluate_all("sections => sections.map((section) => section.id)")
    assert ids == list(_operations())


@pytest.mark.parametrize("name", _EXAMPLES)
async def test_a_request_and_its_command_are_filled_in_with_its_example(page: Page, name: str) -> None:
    operation = page.locator(f"#{name}")
    body = await operation.get_by_label("Body", exact=True).input_value()
    command = await operation.locator("pre.command").inner_text()
    assert json.loads(body) == json.loads(command.split("-d '")[1].rstrip("'")) == _EXAMPLES[name]


async def test_the_command_follows_what_is_typed(page: Page) -> None:
    await page.locator("#createEmbedding").get_by_label("Body", exact=True).fill('{"input": "another text"}')
    await expect(page.locator("#createEmbedding pre.command")).to_contain_text('-d \'{"input":"another text"}\'')


@pytest.mark.parametrize(
    ("name", "answer"), [("createEmbedding", '"object": "list"'), ("retrieveModel", '"id": "stt-1"')]
)
async def test_a_request_is_sent_with_the_key_of_the_tab(page: Page, name: str, answer: str) -> None:
    await _send(page.locator(f"#{name}"))
    await expect(page.locator(f"#{name}").get_by_role("heading", name="The answer: 200")).to_be_visible()
    await expect(page.locator(f"#{name} pre").last).to_contain_text(answer)


async def test_a_form_is_sent_with_its_file(page: Page) -> None:
    operation = page.locator("#createTranscription")
    await operation.get_by_label("file", exact=True).set_input_files(
        {"name": "no.wav", "mimeType": "audio/wav", "buffer": b"no sound"}
    )
    await expect(operation.locator("pre.command")).to_contain_text("""-F 'file=@"no.wav"'""")
    await _send(operation)
    await expect(operation.locator("pre").last).to_contain_text('"param": "file"')


async def test_a_body_that_is_not_json_is_not_sent(page: Page, seen: Seen) -> None:
    await page.locator("#createRerank").get_by_label("Body", exact=True).fill("{")
    await page.locator("#createRerank").get_by_role("button", name="Send").click()
    await expect(page.locator("#createRerank").get_by_label("Body", exact=True)).to_be_focused()
    assert not [asked for asked in seen.asked if asked.endswith("/v1/rerank")]


async def test_without_a_key_the_page_asks_for_one(page: Page) -> None:
    await page.get_by_role("button", name="Forget the key").click()
    await page.locator("#createEmbedding").get_by_role("button", name="Send").click()
    await expect(page.locator("#message")).to_have_text("An API key is needed.")
    await expect(page.get_by_label("API key")).to_be_focused()


async def test_a_type_leads_to_its_schema(page: Page) -> None:
    await page.locator("#createEmbedding").get_by_role("link", name="EmbeddingList").click()
    await expect(page.locator("#EmbeddingList")).to_be_in_viewport()


async def test_the_reference_has_no_barriers(page: Page) -> None:
    await _send(page.locator("#createEmbedding"))
    assert await barriers(page) == []
