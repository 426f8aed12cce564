"""Steps that tests of the page of keys share."""

import aiohttp
from playwright.async_api import Page

from tests.browser.test_pages import MARKUP
from tests.conftest import bearer

ADMIN_KEY = "an admin key of 32 bytes or more."
ORG = MARKUP.replace("/", "")[:64].strip()


async def made_by_another(url: str, name: str) -> dict[str, str]:
    """A key of acme that another admin makes, as the administration answers it."""
    async with (
        aiohttp.ClientSession(headers=bearer(ADMIN_KEY)) as session,
        session.post(f"{url}/admin/v1/keys", json={"name": name, "org": "acme"}) as answer,
    ):
        made_key: dict[str, str] = await answer.json()
        return made_key


async def sign_in(page: Page, key: str = ADMIN_KEY) -> None:
    await page.get_by_label("Admin key").fill(key)
    await page.keyboard.press("Enter")


async def fill(page: Page, button: str, **fields: str) -> None:
    """Fill the form in its window, and send it."""
    dialog = page.get_by_role("dialog")
    for name, text in fields.items():
        await dialog.locator(f"[name='{name}']").fill(text)
    await dialog.get_by_role("button", name=button).click()


async def made(page: Page, **fields: str) -> str:
    """A key made in the page, as it is shown once."""
    await page.get_by_role("button", name="Create key").click()
    await fill(page, "Create", **fields)
    return await page.locator("#secret-key").inner_text()
