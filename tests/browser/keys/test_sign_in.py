"""One sign-in for all pages of a tab: an API key is typed once, and the admin key is kept by the page of keys alone."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.keys.steps import made, made_by_another, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")

_KEPT = "sessionStorage.getItem('quartet-key')"
_NEEDS_ADMIN_KEY = "This page needs the admin key. The other pages use the API key that this tab has."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def key(url: str) -> str:
    """An API key."""
    return (await made_by_another(url, "typed once"))["key"]


@pytest_asyncio.fixture(loop_scope="session")
async def signed_out(tab: Page, url: str) -> Page:
    await tab.goto(f"{url}/health/live")
    await tab.evaluate("sessionStorage.clear()")
    return tab


async def _type(page: Page, url: str, path: str, key: str) -> None:
    await page.goto(f"{url}{path}")
    await page.get_by_label("API key").fill(key)
    await page.keyboard.press("Enter")
    await expect(page.locator("#whose")).to_contain_text("typed once")


@pytest.mark.parametrize("typed", ["/playground", "/dashboard"])
async def test_a_key_that_is_typed_on_a_page_is_known_to_the_others(
    signed_out: Page, url: str, key: str, typed: str
) -> None:
    await _type(signed_out, url, typed, key)
    for path in {"/playground", "/dashboard"} - {typed}:
        await signed_out.goto(f"{url}{path}")
        await expect(signed_out.locator("#whose")).to_contain_text("typed once")
        await expect(signed_out.get_by_label("API key")).to_be_hidden()


@pytest.mark.parametrize("path", ["/playground", "/dashboard"])
async def test_the_owner_of_a_key_is_announced_and_the_focus_is_on_the_page(
    signed_out: Page, url: str, key: str, path: str
) -> None:
    await _type(signed_out, url, path, key)
    await expect(signed_out.locator("#whose[role=status]")).to_be_visible()
    assert await signed_out.evaluate("document.activeElement.id") == "main"


async def test_the_page_of_keys_says_that_the_tabs_key_is_no_admin_key(signed_out: Page, url: str, key: str) -> None:
    await _type(signed_out, url, "/playground", key)
    await signed_out.goto(f"{url}/keys")
    await expect(signed_out.locator("#message")).to_have_text(_NEEDS_ADMIN_KEY)
    await expect(signed_out.get_by_label("Admin key")).to_be_focused()


async def test_the_admin_key_does_not_replace_the_tabs_key(signed_out: Page, url: str, key: str) -> None:
    await _type(signed_out, url, "/dashboard", key)
    await signed_out.goto(f"{url}/keys")
    await sign_in(signed_out)
    await expect(signed_out.get_by_role("button", name="Create key")).to_be_visible()
    await expect(signed_out.locator("#message")).to_be_empty()
    assert await signed_out.evaluate("Object.values(sessionStorage)") == [key]


async def test_an_api_key_that_is_typed_on_the_page_of_keys_is_known_to_the_others(
    signed_out: Page, url: str, key: str
) -> None:
    await signed_out.goto(f"{url}/keys")
    await sign_in(signed_out, key)
    await expect(signed_out.locator("#message")).to_have_text(_NEEDS_ADMIN_KEY)
    await signed_out.goto(f"{url}/dashboard")
    await expect(signed_out.locator("#whose")).to_contain_text("typed once")


async def test_an_api_key_that_is_typed_on_the_page_of_keys_does_not_replace_the_first(
    signed_out: Page, url: str, key: str
) -> None:
    await _type(signed_out, url, "/playground", key)
    await signed_out.goto(f"{url}/keys")
    await sign_in(signed_out, "qk_another")
    await expect(signed_out.locator("#message")).to_have_text(_NEEDS_ADMIN_KEY)
    assert await signed_out.evaluate(_KEPT) == key


async def test_a_created_key_can_be_used_on_the_other_pages(signed_out: Page, url: str) -> None:
    await signed_out.goto(f"{url}/keys")
    await sign_in(signed_out)
    new = await made(signed_out, name="for this tab")
    await signed_out.get_by_role("button", name="Use it in this tab").click()
    assert await signed_out.evaluate(_KEPT) == new
    await signed_out.goto(f"{url}/playground")
    await expect(signed_out.locator("#whose")).to_contain_text("for this tab")


async def test_signing_out_on_a_page_signs_out_on_all(signed_out: Page, url: str, key: str) -> None:
    await _type(signed_out, url, "/playground", key)
    await signed_out.goto(f"{url}/dashboard")
    await signed_out.get_by_role("button", name="Sign out").click()
    await signed_out.goto(f"{url}/playground")
    await expect(signed_out.get_by_label("API key")).to_be_visible()
