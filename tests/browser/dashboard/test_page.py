"""The dashboard in use: sign-in, errors, sizes, keyboard, desk and phone."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.catalogue.models import MODELS
from tests.browser.barriers import barriers
from tests.browser.dashboard.ledger import ACME, FIRST, MARKUP, TODAY, Account, choose, opened, totals

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_markup_stays_text(page: Page) -> None:
    await choose(page, "key")
    await page.locator("summary").click()
    await page.locator("#by-day td").first.wait_for()
    assert await page.locator("#by-day td", has_text=MARKUP).count() == 30
    assert str(ACME.org) in await page.locator("#totals tfoot").inner_text()
    assert str(ACME.org) in await page.locator("#whose").inner_text()
    assert await page.locator("main :is(img, script, b)").count() == 0
    assert await page.evaluate("window.hurt") is None


async def test_thirty_days_of_many_models_and_keys_take_two_screens(page: Page) -> None:
    await page.set_viewport_size({"width": 1280, "height": 800})
    for group in ("model", "operation", "key"):
        await choose(page, group)
        await page.locator("#chart canvas").wait_for()
        assert await page.evaluate("document.documentElement.scrollHeight") <= 1600, group
    assert await page.locator("#first").input_value() == FIRST


async def test_forty_keys_take_two_screens_and_as_many_bars_as_there_are_colours(page: Page) -> None:
    await page.set_viewport_size({"width": 1280, "height": 800})
    used = {"audio_seconds": 0, "characters": 0, "tokens": 3, "requests": 1, "amount": "0.50", "key_prefix": "qk_1"}
    rows = [{"day": TODAY, "key": f"{number}", "key_id": f"{number}", **used} for number in range(40)]
    await page.route("**/data/usage*", lambda route: route.fulfill(json={"data": rows}))
    await choose(page, "key")
    names = await page.locator("#legend li").all_inner_texts()
    assert (len(names), names[-1]) == (8, "33 others")
    assert len(await totals(page)) == 40
    assert await page.evaluate("document.documentElement.scrollHeight") <= 1600


@pytest.mark.parametrize(
    ("field", "day", "error"),
    [
        ("From", "2026-12-01", "The first day must not be after the last."),
        ("From", "2020-01-01", "At most 366 days are shown at once."),
        ("To", "", "A day is missing, or there is no such day."),
    ],
)
async def test_a_wrong_day_is_reported_beside_its_field(page: Page, field: str, day: str, error: str) -> None:
    await page.get_by_label(field, exact=True).fill(day)
    await page.get_by_label(field, exact=True).dispatch_event("change")
    await expect(page.locator("#days-error")).to_have_text(error)
    await expect(page.get_by_label(field, exact=True)).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("button", name="7 days").click()
    await expect(page.locator("#days-error")).to_be_empty()
    assert await page.locator("[aria-invalid]").count() == 0


async def test_an_error_that_is_no_json_is_reported_in_words(page: Page) -> None:
    await page.route("**/data/usage*", lambda route: route.fulfill(status=502, body="<h1>Bad Gateway</h1>"))
    await page.get_by_role("button", name="Today").click()
    await expect(page.locator("#message")).to_contain_text("502: Bad Gateway")
    await page.unroute_all()
    await page.route("**/data/usage*", lambda route: route.abort())
    await page.get_by_role("button", name="7 days").click()
    await expect(page.locator("#message")).to_have_text("The server does not answer.")
    await page.unroute_all()
    await page.route("**/data/usage*", lambda route: route.fulfill(status=200, body="<h1>Sign in</h1>"))
    await page.get_by_role("button", name="30 days").click()
    await expect(page.locator("#message")).to_contain_text("not this service")


_BALANCES = [
    ("21.00", "3.00", "the balance lasts 7 days", None),
    ("20.99", "3.00", "the balance lasts 6 days", "lasts 6 days"),
    ("0.01", "3.00", "the balance lasts less than a day", "lasts less than a day"),
    ("0.00", "3.00", "the balance lasts less than a day", "empty"),
    ("5.00", "0.00", "nothing was spent in the last 7 days", None),
]


@pytest.mark.parametrize(("balance", "spent", "lasts", "warning"), _BALANCES)
async def test_the_page_says_how_long_the_balance_lasts(
    page: Page, balance: str, spent: str, lasts: str, warning: str | None
) -> None:
    account = {"org": "acme", "key": "k", "tier": "free", "balance": balance, "spent_a_day": spent, "limits": []}
    await page.route("**/data/account", lambda route: route.fulfill(json=account))
    await page.reload()
    await expect(page.locator("#lasts")).to_have_text(lasts)
    await expect(page.locator("#rate")).to_have_text(f"{spent} CHF a day")
    if warning is None:
        await expect(page.locator("#low")).to_be_hidden()
    else:
        await expect(page.locator("#low")).to_contain_text(warning)


async def test_a_key_without_usage_gets_a_first_request(page: Page, url: str, accounts: dict[str, Account]) -> None:
    await opened(page, url, accounts["unused"].key)
    request = page.get_by_role("tabpanel", name="curl")
    await expect(request).to_contain_text(f"curl -s {url.removesuffix('/dashboard')}/v1/audio/speech")
    await expect(page.locator("#no-outcomes")).to_be_visible()
    await page.evaluate("sessionStorage.clear()")


async def test_a_wrong_key_is_reported_beside_its_field_and_forgotten(page: Page, url: str) -> None:
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("API key").fill("qk_wrong")
    await page.keyboard.press("Enter")
    await expect(page.locator("#sign-in + #message")).to_contain_text("401: the API key is missing")
    await expect(page.get_by_label("API key")).to_be_focused()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_all_of_it_is_reached_by_keyboard_and_the_key_is_forgotten_with_sign_out(page: Page) -> None:
    reached = set()
    for _ in range(40):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"sign-out", "first", "last", "by", "measure", "download", "scroll bounded"} <= reached
    await page.get_by_role("button", name="Sign out").click()
    assert await page.get_by_label("API key").is_visible()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_the_dashboard_has_no_barriers(page: Page) -> None:
    await page.get_by_role("button", name="Today").click()
    await page.get_by_text("Day by day").click()
    await expect(page.locator("#by-day tbody tr")).to_have_count(len(MODELS))
    assert await barriers(page) == []
    await page.set_viewport_size({"width": 320, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


_TABLES = ("#totals", "#by-day", "#ended table", "#left table")
_SHOWN = """table => [...table.querySelectorAll("td")].filter((cell) => cell.checkVisibility()).map((cell) =>
  [getComputedStyle(cell, "::before").content.slice(1, -1), cell.cellIndex, cell.textContent, cell.offsetTop])"""


@pytest_asyncio.fixture(loop_scope="session")
async def phone(page: Page) -> Page:
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.get_by_role("button", name="Today").click()
    await page.get_by_text("Day by day").click()
    await expect(page.locator("#by-day tbody tr")).to_have_count(len(MODELS))
    return page


@pytest.mark.parametrize("table", _TABLES)
async def test_on_a_phone_each_value_stands_below_the_last_with_the_name_of_its_column(phone: Page, table: str) -> None:
    columns = await phone.locator(f"{table} thead th").all_text_contents()
    shown = await phone.locator(table).evaluate(_SHOWN)
    assert shown
    assert all(name == columns[index] for name, index, *_ in shown)
    tops = [top for *_, top in shown]
    assert tops == sorted(set(tops))


async def test_on_a_phone_a_value_of_nothing_has_no_row(phone: Page) -> None:
    shown = await phone.locator("#totals").evaluate(_SHOWN)
    assert [text for _, _, text, _ in shown if text in ("0", "–")] == []


async def test_on_a_phone_nothing_scrolls_sideways(phone: Page) -> None:
    wide = await phone.evaluate(
        "[document.documentElement, ...document.querySelectorAll('.scroll')]"
        ".filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.outerHTML.slice(0, 80))"
    )
    assert wide == []
