"""What was done on the page of keys is announced, and the keyboard's focus stays where one goes on."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.access import api_key
from tests.browser.keys.steps import fill, made, made_by_another

pytestmark = pytest.mark.asyncio(loop_scope="module")

_FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


@pytest_asyncio.fixture(loop_scope="module")
async def prefix(url: str) -> str:
    """Of a key that another made."""
    return (await made_by_another(url, "told"))["prefix"]


@pytest_asyncio.fixture(loop_scope="module")
async def listed(prefix: str, page: Page) -> Page:
    """Signed in, where that key is seen."""
    await expect(page.get_by_role("row", name=prefix)).to_be_visible()
    return page


@pytest_asyncio.fixture(loop_scope="module")
async def orgs(page: Page) -> Page:
    await page.get_by_role("tab", name="Organisations").click()
    await expect(page.get_by_role("row", name="acme")).to_be_visible()
    return page


async def _told(page: Page, text: str) -> None:
    await expect(page.locator("#done[role=status]")).to_have_text(text)


async def test_who_has_signed_in_is_at_the_tabs(page: Page) -> None:
    await expect(page.get_by_role("tab", name="Keys", exact=True)).to_be_focused()


async def test_a_created_key_is_announced(page: Page) -> None:
    key = await made(page, name="new one")
    await _told(page, f"Created {api_key.prefix(key)}, new one.")


async def test_who_has_created_a_key_is_at_its_secret(page: Page) -> None:
    await made(page, name="new one")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("#secret")).to_be_focused()


async def test_who_has_copied_a_secret_is_at_the_tabs(page: Page) -> None:
    await made(page, name="new one")
    await page.get_by_role("button", name="Done").click()
    await expect(page.get_by_role("tab", name="Keys", exact=True)).to_be_focused()


async def test_a_changed_key_is_announced(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Change {prefix}").click()
    await fill(listed, "Save", name="another name")
    await _told(listed, f"Changed {prefix}, another name.")


async def test_who_has_changed_a_key_is_at_its_button_again(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Change {prefix}").click()
    await fill(listed, "Save", name="yet another")
    await expect(listed.get_by_role("button", name=f"Change {prefix}, yet another")).to_be_focused()


async def test_a_rotated_key_is_announced(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Rotate {prefix}").click()
    await fill(listed, "Rotate", overlap="2")
    new = api_key.prefix(await listed.locator("#secret-key").inner_text())
    await _told(listed, f"Rotated told: {new} is its new secret, {prefix} ends after 2 hours.")
    await expect(listed.locator("#secret")).to_be_focused()


async def test_a_revoked_key_is_announced(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Revoke {prefix}").click()
    await fill(listed, "Revoke")
    await _told(listed, f"Revoked {prefix}, told.")


async def test_who_has_revoked_a_key_is_at_the_list(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Revoke {prefix}").click()
    await fill(listed, "Revoke")
    await expect(listed.get_by_role("dialog")).to_have_count(0)
    assert await listed.evaluate(_FOCUSED) == "Keys"


async def test_who_has_cancelled_is_at_the_button_again(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Revoke {prefix}").click()
    await listed.get_by_role("button", name="Cancel").click()
    await expect(listed.get_by_role("button", name=f"Revoke {prefix}")).to_be_focused()


async def test_a_made_organisation_is_announced(orgs: Page) -> None:
    await orgs.get_by_role("button", name="New organisation").click()
    await fill(orgs, "Create", name="told of")
    await _told(orgs, "Made the organisation told of.")
    await expect(orgs.get_by_role("button", name="New organisation")).to_be_focused()


async def test_a_changed_limit_is_announced(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Limit of acme").click()
    await fill(orgs, "Save", requests_per_minute="700")
    await _told(orgs, "Changed the limit of acme.")
    await expect(orgs.get_by_role("button", name="Limit of acme")).to_be_focused()


async def test_a_top_up_is_announced(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Top up of acme").click()
    await fill(orgs, "Add credit", amount="25,50", reference="invoice 102")
    await _told(orgs, "Added 25.50 CHF to acme.")
    await expect(orgs.get_by_role("button", name="Top up of acme")).to_be_focused()


async def test_who_closes_the_top_ups_is_at_their_button(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Top-ups of acme").click()
    await orgs.get_by_role("button", name="Close").click()
    await expect(orgs.get_by_role("button", name="Top-ups of acme")).to_be_focused()


async def test_who_looks_at_the_keys_of_an_organisation_is_at_the_tab(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Keys of acme").click()
    await expect(orgs.get_by_role("tab", name="Keys", exact=True)).to_be_focused()


async def test_what_was_announced_is_gone_with_the_admin_key(page: Page) -> None:
    await made(page, name="new one")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.locator("#done")).to_be_empty()
