"""The dashboard in Debian's Chromium: what is seen there is what the ledger has."""

import asyncio
import csv
import re
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page, async_playwright, expect

from frontend.access import api_key
from frontend.access.registry import Registry
from frontend.app import create_app
from frontend.catalogue.prices import to_chf
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.usage.books import Books, Scope
from frontend.usage.events import UsageEvent
from tests.conftest import ProductServer
from tests.fakes import FakeTriton, add_key
from tests.unit.usage.conftest import write

_KEY = api_key.new_key()
_DAY = 86_400
# The page's clock stands here, so that no day ends within a test.
_NOW = 1_795_262_400
# Keeps what is written on the chart, which is a picture.
_KEEP_LABELS = """
window.labels = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.labels.push(text);
  fillText.call(this, text, ...place);
};
"""
_SCOPE = Scope("0001-01-01", "9999-12-31", org="acme")


def _events(key_id: str) -> list[UsageEvent]:
    return [
        UsageEvent(f"{number}", f"{number}", key_id, "acme", *work, 7, "unit", 1, amount, False, _NOW - days * _DAY)
        for number, (days, work, amount) in enumerate(
            (days, work, 1_000_003 * (place + 1) + days)
            for days in range(3)
            for place, work in enumerate((("speech", "tts-1"), ("transcriptions", "stt-1"), ("rerank", "rerank-v2-m3")))
        )
    ]


@pytest.fixture
async def books(settings: Settings) -> AsyncIterator[Books]:
    engine = open_engine(settings.database)
    registry = Registry(engine)
    await registry.create_org("acme", 50)
    await add_key(registry, _KEY, org="acme", tier="company")
    found = await registry.find([api_key.digest(_KEY)])
    await write(engine, *_events(found[api_key.digest(_KEY)].id))
    await Books(engine).top_up("acme", 7_000_005, None)
    yield Books(engine)
    await engine.dispose()


@pytest.fixture
async def server(settings: Settings, books: Books) -> AsyncIterator[TestServer]:
    started = ProductServer(create_app(settings, connect=lambda address: FakeTriton()), settings)
    await started.start_server()
    yield started
    await started.close()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium")
    assert path, "these tests need Chromium: apt-get install chromium"
    async with async_playwright() as playwright:
        # Chromium's own sandbox does not start for root.
        started = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        await started.close()


@pytest.fixture
async def page(browser: Browser, server: TestServer) -> AsyncIterator[Page]:
    """The page as it is before anybody has signed in; what goes wrong in it fails the test."""
    opened = await browser.new_page()
    await opened.clock.set_fixed_time(_NOW)
    await opened.add_init_script(_KEEP_LABELS)
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
    own = (str(server.make_url("/")), "blob:", "data:")
    opened.on("request", lambda request: None if request.url.startswith(own) else faults.append(request.url))
    await opened.goto(str(server.make_url("/dashboard")))
    yield opened
    assert [fault for fault in faults if "401" not in fault] == []


async def _sign_in(page: Page, key: str = _KEY) -> None:
    await page.get_by_label("API key").fill(key)
    await page.keyboard.press("Enter")
    if key == _KEY:
        await page.get_by_role("heading", name="Usage").wait_for()


async def _rows(page: Page) -> list[list[str]]:
    rows = await page.locator("#rows tr").all()
    return [await row.locator("th, td").all_inner_texts() for row in rows]


async def test_the_numbers_are_the_ledgers(page: Page, books: Books) -> None:
    await _sign_in(page)
    sums = await books.usage(_SCOPE, ["day", "operation"])
    wanted = {(*each.group, str(each.requests), each.amount) for each in sums}
    found = {
        (day, operation, requests, round(float(amount.replace(",", "")) * 1e6))
        for day, operation, _, requests, amount in await _rows(page)
    }
    assert found == wanted
    assert await page.locator("#cost").inner_text() == f"{to_chf(sum(each.amount for each in sums))} CHF"
    assert await page.locator("#requests").inner_text() == str(sum(each.requests for each in sums))
    assert await page.locator("#balance").inner_text() == "7.000005 CHF"
    limits = await page.locator("#limits tr").all_inner_texts()
    assert any(re.fullmatch(r"organisation\s+50\s+50\s*", line) for line in limits)


async def test_the_file_has_the_ledgers_numbers(page: Page, books: Books, tmp_path: Path) -> None:
    await _sign_in(page)
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Download CSV").click()
    await (await downloading.value).save_as(tmp_path / "usage.csv")
    with (tmp_path / "usage.csv").open(encoding="utf-8", newline="") as file:
        found = {(row["day"], row["operation"], row["requests"], row["amount"]) for row in csv.DictReader(file)}
    sums = await books.usage(_SCOPE, ["day", "operation"])
    assert found == {(*each.group, str(each.requests), to_chf(each.amount)) for each in sums}


@pytest.mark.parametrize("group", ["model", "key"])
async def test_another_group_has_the_same_sum(page: Page, books: Books, group: str) -> None:
    await _sign_in(page)
    before = await page.locator("#all-amount").inner_text()
    await page.get_by_label("By", exact=False).and_(page.locator("select")).select_option(group)
    await page.get_by_role("columnheader", name=group.title()).wait_for()
    assert await page.locator("#all-amount").inner_text() == before


async def test_keys_of_one_name_are_told_apart(page: Page, settings: Settings) -> None:
    engine = open_engine(settings.database)
    other = api_key.new_key()
    await add_key(Registry(engine), other, org="acme")
    found = await Registry(engine).find([api_key.digest(key) for key in (_KEY, other)])
    event = UsageEvent(
        "other", "other", found[api_key.digest(other)].id, "acme", "chat", "chat", 5, "u", 1, 9, False, _NOW
    )
    await write(engine, event)
    await engine.dispose()
    await _sign_in(page)
    await page.locator("#by").select_option("key")
    await page.get_by_role("columnheader", name="Key").wait_for()
    assert set(await page.locator("#legend li").all_inner_texts()) == {f"test {key.id[:8]}" for key in found.values()}
    assert [row[2] for row in await _rows(page) if row[1].endswith("(chat)")] == ["5 tokens"]


@pytest.mark.parametrize("measure", ["amount", "requests"])
async def test_the_axis_shows_nothing_between_whole_requests_and_micro_chf(
    page: Page, settings: Settings, measure: str
) -> None:
    engine = open_engine(settings.database)
    key = api_key.new_key()
    await add_key(Registry(engine), key)
    (found,) = (await Registry(engine).find([api_key.digest(key)])).values()
    await write(engine, UsageEvent("a", "a", found.id, None, "rerank", "rerank-v2-m3", 5, "u", 1, 2, False, _NOW))
    await engine.dispose()
    await _sign_in(page, key)
    await page.get_by_role("heading", name="Usage").wait_for()
    await page.evaluate("labels.length = 0")
    await page.locator("#measure").select_option("requests")
    await page.locator("#measure").select_option(measure)
    wanted = {"amount": ["0.000000", "0.000001", "0.000002"], "requests": ["0", "1"]}
    # The axis of days is drawn after that of values.
    async with asyncio.timeout(30):
        while wanted[measure][-1] not in await page.evaluate("labels"):
            pass
    values = [label for label in await page.evaluate("labels") if "-" not in label]
    assert values[-len(wanted[measure]) :] == wanted[measure]


async def test_other_days_are_asked_for(page: Page, books: Books) -> None:
    await _sign_in(page)
    today = await page.get_by_label("To").input_value()
    await page.get_by_label("From").fill(today)
    await page.get_by_label("From").dispatch_event("change")
    await expect(page.locator("#rows tr")).to_have_count(3)
    by_day: defaultdict[str, int] = defaultdict(int)
    for each in await books.usage(_SCOPE, ["day"]):
        by_day[each.group[0]] += each.amount
    assert await page.locator("#cost").inner_text() == f"{to_chf(by_day[today])} CHF"


async def test_a_wrong_key_is_told_and_forgotten(page: Page) -> None:
    await _sign_in(page, "qk_wrong")
    assert "not known" in await page.get_by_role("alert").inner_text()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_all_of_it_is_reached_by_keyboard_and_the_key_is_forgotten_with_sign_out(page: Page) -> None:
    await _sign_in(page)
    reached = set()
    for _ in range(30):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"sign-out", "first", "last", "by", "measure", "download", "scroll"} <= reached
    await page.get_by_role("button", name="Sign out").click()
    assert await page.get_by_label("API key").is_visible()
    assert await page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1200])
async def test_nothing_lies_beside_the_window(browser: Browser, server: TestServer, scheme: str, width: int) -> None:
    context = await browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 800}
    )
    page = await context.new_page()
    await page.clock.set_fixed_time(_NOW)
    await page.goto(str(server.make_url("/dashboard")))
    await _sign_in(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 128
    assert dark == (scheme == "dark")
