"""Changes on the page of keys are announced, and the focus is where the user continues."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.access import api_key
from tests.browser.keys.steps import fill, made, made_by_another

pytestmark = pytest.mark.asyncio(loop_scope="session")

_FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


@pytest_asyncio.fixture(loop_scope="session")
async def prefix(url: str) -> str:
    """Of a key that another made."""
    return (await made_by_another(url, "told"))["prefix"]


@pytest_asyncio.fixture(loop_scope="session")
async def listed(prefix: str, page: Page) -> Page:
    """Signed in, where that key is seen."""
    await expect(page.get_by_role("row", name=prefix)).to_be_visible()
    return page


@pytest_asyncio.fixture(loop_scope="session")
async def orgs(page: Page) -> Page:
    await page.get_by_role("tab", name="Organisations").click()
    await expect(page.get_by_role("row", name="acme")).to_be_visible()
    return page


async def _told(page: Page, text: str) -> None:
    await expect(page.locator("#done[role=status]")).to_have_text(text)


async def test_a_created_key_is_announced_and_the_focus_is_on_its_secret(page: Page) -> None:
    keys = page.get_by_role("tab", name="Keys", exact=True)
    # After the sign-in the focus is there.
    await expect(keys).to_be_focused()
    key = await made(page, name="new one")
    await _told(page, f"Created {api_key.prefix(key)}, new one.")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("#secret")).to_be_focused()
    await page.get_by_role("button", name="Done").click()
    await expect(keys).to_be_focused()


async def test_a_changed_key_is_announced_and_the_focus_is_on_its_button(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Change {prefix}").click()
    await fill(listed, "Save", name="another name")
    await _told(listed, f"Changed {prefix}, another name.")
    await expect(listed.get_by_role("button", name=f"Change {prefix}, another name")).to_be_focused()


async def test_a_rotated_key_is_announced(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Rotate {prefix}").click()
    await fill(listed, "Rotate", overlap="2")
    new = api_key.prefix(await listed.locator("#secret-key").inner_text())
    await _told(listed, f"Rotated told: {new} is its new secret, {prefix} ends after 2 hours.")
    await expect(listed.locator("#secret")).to_be_focused()


async def test_a_revoked_key_is_announced_and_the_focus_is_on_the_list(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Revoke {prefix}").click()
    await fill(listed, "Revoke")
    await _told(listed, f"Revoked {prefix}, told.")
    await expect(listed.get_by_role("dialog")).to_have_count(0)
    assert await listed.evaluate(_FOCUSED) == "Keys"


async def test_after_a_cancellation_the_focus_is_on_the_button(listed: Page, prefix: str) -> None:
    await listed.get_by_role("button", name=f"Revoke {prefix}").click()
    await listed.get_by_role("button", name="Cancel").click()
    await expect(listed.get_by_role("button", name=f"Revoke {prefix}")).to_be_focused()


@pytest.mark.parametrize(
    ("begin", "send", "fields", "told"),
    [
        ("New organisation", "Create", {"name": "told of"}, "Made the organisation told of."),
        ("Limit of acme", "Save", {"requests_per_minute": "700"}, "Changed the limit of acme."),
        ("Top up of acme", "Add credit", {"amount": "25,50", "reference": "invoice 102"}, "Added 25.50 CHF to acme."),
    ],
)
async def test_a_change_of_an_organisation_is_announced_and_the_focus_is_on_its_button(
    orgs: Page, begin: str, send: str, fields: dict[str, str], told: str
) -> None:
    await orgs.get_by_role("button", name=begin).click()
    await fill(orgs, send, **fields)
    await _told(orgs, told)
    await expect(orgs.get_by_role("button", name=begin)).to_be_focused()


async def test_after_the_top_ups_the_focus_is_on_their_button(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Top-ups of acme").click()
    await orgs.get_by_role("button", name="Close").click()
    await expect(orgs.get_by_role("button", name="Top-ups of acme")).to_be_focused()


async def test_for_the_keys_of_an_organisation_the_focus_is_on_the_tab(orgs: Page) -> None:
    await orgs.get_by_role("button", name="Keys of acme").click()
    await expect(orgs.get_by_role("tab", name="Keys", exact=True)).to_be_focused()


async def test_signing_out_clears_the_announcement(page: Page) -> None:
    await made(page, name="new one")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.locator("#done")).to_be_empty()
