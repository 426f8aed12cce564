"""When a key ends, as the page of keys changes it."""

import pytest
from playwright.async_api import Page, expect

from frontend.access import api_key
from tests.browser.keys.steps import fill, made

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_end_of_a_key_is_taken_away(page: Page) -> None:
    prefix = api_key.prefix(await made(page, name="ends", expires_in="30"))
    row = page.get_by_role("row", name=prefix)
    await expect(row).to_contain_text("until ")
    await page.get_by_role("button", name=f"Change {prefix}").click()
    await page.get_by_role("dialog").get_by_label("Never expires").check()
    await fill(page, "Save")
    await expect(row).to_contain_text("active")


async def test_a_key_that_never_expires_has_no_end_to_take_away(page: Page) -> None:
    prefix = api_key.prefix(await made(page, name="endless"))
    await page.get_by_role("button", name=f"Change {prefix}").click()
    await expect(page.get_by_role("dialog").get_by_label("Expires in days")).to_be_visible()
    await expect(page.get_by_role("dialog").get_by_label("Never expires")).to_have_count(0)


async def test_a_key_does_not_both_expire_and_never_expire(page: Page) -> None:
    prefix = api_key.prefix(await made(page, name="either", expires_in="30"))
    await page.get_by_role("button", name=f"Change {prefix}").click()
    days = page.get_by_role("dialog").get_by_label("Expires in days")
    await page.get_by_role("dialog").get_by_label("Never expires").check()
    await expect(days).to_be_disabled()
    await page.get_by_role("dialog").get_by_label("Never expires").uncheck()
    await expect(days).to_be_enabled()
