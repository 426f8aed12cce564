"""The page of keys in Debian's Chromium: what it does is done over /admin/v1, and the admin key stays in the page."""

import re
import time

import aiohttp
import pytest
from playwright.async_api import Page, expect
from sqlalchemy import insert

from frontend.access import api_key
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.tables import KEYS, SECRETS
from tests.browser.barriers import barriers
from tests.browser.keys.steps import ADMIN_KEY, ORG, fill, made, sign_in
from tests.browser.test_pages import MARKUP
from tests.conftest import bearer

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _status(url: str, key: str) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/v1/models", headers=bearer(key)) as answer,
    ):
        return answer.status


async def test_a_key_made_in_the_page_works_and_revoked_stops_within_five_seconds(page: Page, url: str) -> None:
    key = await made(page, name="search service")
    assert (api_key.well_formed(key), await _status(url, key)) == (True, 200)
    await page.get_by_role("button", name=f"Revoke {api_key.prefix(key)}").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert await _status(url, key) == 200
    await page.get_by_role("button", name=f"Revoke {api_key.prefix(key)}").click()
    await fill(page, "Revoke")
    revoked = time.monotonic()
    while (status := await _status(url, key)) == 200:
        assert time.monotonic() - revoked < 5
    assert status == 401
    await expect(page.get_by_role("row", name="search service")).to_have_count(0)
    await page.locator("#keys [name=state]").select_option("all")
    await expect(page.get_by_role("row", name="search service")).to_contain_text("revoked")


async def test_a_new_key_is_shown_once_and_copied(page: Page, url: str) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    key = await made(page, name="shown once")
    await page.get_by_role("button", name="Copy the key").click()
    await expect(page.get_by_role("button", name="Copy the key")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == key
    await page.get_by_role("button", name="Done").click()
    assert key not in await page.content()


async def test_a_rotated_key_goes_on_beside_the_new_one(page: Page, url: str) -> None:
    old = await made(page, name="rotated", expires_in="30")
    await page.get_by_role("button", name=f"Rotate {api_key.prefix(old)}").click()
    await fill(page, "Rotate", overlap="1.5")
    await expect(page.locator("#secret-key")).not_to_have_text(old)
    new = await page.locator("#secret-key").inner_text()
    assert [await _status(url, key) for key in (old, new)] == [200, 200]
    await expect(page.get_by_role("row", name="rotated")).to_have_count(1)
    below = page.get_by_role("row", name="rotated").locator("+ tr")
    await expect(below).to_contain_text(f"old secret{api_key.prefix(old)}")
    await expect(below).to_contain_text("until ")
    await expect(page.get_by_role("row", name=api_key.prefix(old))).to_contain_text(re.compile("until 20"))


async def test_a_key_is_changed(page: Page) -> None:
    prefix = api_key.prefix(await made(page, name="changed", **{}))
    await page.get_by_role("button", name=f"Change {prefix}").click()
    await page.get_by_role("dialog").get_by_text("Requests per minute").click()
    await page.get_by_role("dialog").locator("[name=tier]").select_option("company")
    await fill(page, "Save", **{"limits.embeddings": "500"})
    row = page.get_by_role("row", name=prefix)
    await expect(row).to_contain_text("company")
    await expect(row).to_contain_text("embeddings 500/min")
    await page.get_by_role("button", name=f"Change {prefix}").click()
    await page.get_by_role("dialog").get_by_text("Requests per minute").click()
    await fill(page, "Save", **{"limits.embeddings": ""})
    await expect(row).to_contain_text("limits of its tier")


async def test_the_expiry_of_a_key_can_be_removed(page: Page) -> None:
    prefix = api_key.prefix(await made(page, name="ends", expires_in="30"))
    row, dialog = page.get_by_role("row", name=prefix), page.get_by_role("dialog")
    await expect(row).to_contain_text("until ")
    await page.get_by_role("button", name=f"Change {prefix}").click()
    days, never = dialog.get_by_label("Expires in days"), dialog.get_by_label("Never expires")
    await never.check()
    await expect(days).to_be_disabled()
    await never.uncheck()
    await expect(days).to_be_enabled()
    await never.check()
    await fill(page, "Save")
    await expect(row).to_contain_text("active")
    await page.get_by_role("button", name=f"Change {prefix}").click()
    await expect(days).to_be_visible()
    await expect(never).to_have_count(0)


async def test_markup_stays_text_wherever_it_is_put(page: Page) -> None:
    await page.get_by_role("tab", name="Organisations").click()
    await page.get_by_role("button", name="New organisation").click()
    await fill(page, "Create", name=ORG)
    await page.get_by_role("button", name=f"Top up of {ORG}").click()
    await fill(page, "Add credit", amount="25.50", reference=MARKUP)
    await expect(page.get_by_role("row", name="25.50 CHF")).to_contain_text(ORG)
    await page.get_by_role("button", name=f"Top-ups of {ORG}").click()
    await expect(page.locator("#top-ups tbody")).to_contain_text(MARKUP)
    await page.get_by_role("button", name=f"Keys of {ORG}").click()
    await expect(page.get_by_text("There is no such key.")).to_be_visible()
    await made(page, name=MARKUP, org=ORG)
    await expect(page.locator("#keys tbody")).to_contain_text(MARKUP)
    await expect(page.locator("#keys tbody")).to_contain_text("floor of whisper_turbo: 2, shared")
    await page.locator("#keys tbody").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("dialog")).to_contain_text(MARKUP)
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("tab", name="Audit log").click()
    await expect(page.locator("#audit tbody")).to_contain_text(MARKUP)
    await expect(page.locator("#audit tbody")).to_contain_text("admin key127.0.0.1")
    assert await page.locator("main :is(img, script, b)").count() == 0
    assert await page.evaluate("window.hurt") is None


async def test_an_error_is_reported_beside_its_field(page: Page) -> None:
    await page.get_by_role("button", name="Create key").click()
    await fill(page, "Create", name="lost", org="nobody")
    told = page.get_by_role("dialog").locator("[data-of=org]")
    await expect(told).to_have_text("404: there is no organisation nobody")
    await expect(page.get_by_role("dialog").locator("[name=org]")).to_be_focused()
    await page.route("**/admin/v1/keys", lambda route: route.fulfill(status=502, body="<html>Bad Gateway</html>"))
    await fill(page, "Create", org="")
    await expect(page.get_by_role("dialog").get_by_text("502: Bad Gateway")).to_be_visible()
    await page.unroute_all()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_page_of_keys_has_no_barriers(page: Page, url: str) -> None:
    await made(page, name="seen")
    await page.get_by_role("tab", name="Organisations").click()
    await page.get_by_role("button", name="Top-ups of acme").click()
    await page.locator("#top-ups tbody tr").wait_for()
    await page.get_by_role("tab", name="Audit log").click()
    await page.get_by_label("Target", exact=True).fill("acme")
    await expect(page.locator("#audit tbody tr")).to_have_count(2)
    await page.get_by_role("tab", name="Keys", exact=True).click()
    await page.get_by_label("Search").first.fill("seen")
    await expect(page.locator("#keys tbody tr")).to_have_count(1)
    # A window below all the rest, so that everything is visible at once.
    await page.evaluate(
        """() => {
          HTMLDialogElement.prototype.showModal = function () {
            this.style.position = "static";
            document.querySelector("main").append(this);
            this.show();
          };
        }"""
    )
    await page.locator("#new-key").click()
    await page.get_by_role("dialog").get_by_text("Requests per minute").click()
    await page.evaluate(
        "document.querySelectorAll('[role=tabpanel], #sign-in').forEach((part) => { part.hidden = false; })"
    )
    assert await barriers(page) == []


async def _add_many(settings: Settings) -> None:
    """Sixty keys at once, of the year before."""
    engine, now = open_engine(settings.database), int(time.time()) - 365 * 86_400
    keys = [{"id": f"{number}", "name": f"many {number}."} for number in range(60)]
    secrets = [{"key_id": key["id"], "digest": key["id"], "prefix": f"qk_{key['id']}"} for key in keys]
    async with engine.begin() as connection:
        await connection.execute(insert(KEYS).values(tier="free", limits="{}", created_at=now), keys)
        await connection.execute(insert(SECRETS).values(created_at=now), secrets)
    await engine.dispose()


async def test_many_keys_come_in_pages_and_are_searched(page: Page, settings: Settings) -> None:
    await _add_many(settings)
    async with page.expect_response(lambda answer: "search=many" in answer.url):
        await page.get_by_label("Search").first.fill("many")
    await expect(page.locator("#keys tbody tr")).to_have_count(50)
    await page.locator("#keys").get_by_role("button", name="Show more").click()
    await expect(page.locator("#keys tbody tr")).to_have_count(60)
    await expect(page.locator("#keys .more")).to_be_hidden()
    await page.get_by_label("Search").first.fill("MANY 7.")
    await expect(page.locator("#keys tbody tr")).to_have_count(1)


async def test_the_admin_key_is_gone_when_the_page_is_loaded_again_or_left(page: Page) -> None:
    stored = "[sessionStorage.length, localStorage.length, document.cookie]"
    assert await page.evaluate(stored) == [0, 0, ""]
    assert ADMIN_KEY not in await page.content()
    await page.reload()
    await expect(page.get_by_label("Admin key")).to_be_focused()
    assert await page.get_by_label("Admin key").input_value() == ""
    await sign_in(page)
    await page.get_by_role("button", name="Create key").wait_for()
    # As a browser does that keeps a page it leaves, to show it again.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    await expect(page.get_by_label("Admin key")).to_be_visible()
    await expect(page.locator("tbody tr")).to_have_count(0)


async def test_the_admin_key_is_gone_after_fifteen_minutes_without_use(page: Page, url: str) -> None:
    await page.clock.install()
    await page.goto(f"{url}/keys")
    await sign_in(page)
    await made(page, name="in use")
    await page.clock.fast_forward("14:00")
    await page.keyboard.press("Tab")
    await page.clock.fast_forward("14:00")
    await expect(page.get_by_role("button", name="Create key")).to_be_visible()
    await page.clock.fast_forward("01:05")
    await expect(page.get_by_role("alert").first).to_have_text("Signed out: the page was not used for 15 minutes.")
    assert "in use" not in await page.locator("main").inner_text()
    assert await page.locator("#secret-key").count() == 0
    await page.clock.resume()


async def test_a_wrong_admin_key_is_reported_and_many_have_to_wait(tab: Page, url: str) -> None:
    await tab.goto(f"{url}/keys")
    told = tab.locator("#message")
    for _ in range(12):
        await sign_in(tab, "wrong")
        await expect(told).not_to_be_empty()
    await expect(told).to_have_text(re.compile("^429: too many wrong admin keys from this address.*in [1-6] s"))
    await sign_in(tab)
    await expect(tab.get_by_role("button", name="Create key")).to_be_visible()
