"""The dashboard on a phone: each row of a table is a card."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.catalogue.models import MODELS

pytestmark = pytest.mark.asyncio(loop_scope="module")

_TABLES = ("#totals", "#by-day", "#ended table", "#left table")
_NAMES = """table => [...table.querySelectorAll("tbody tr, tfoot tr")].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => getComputedStyle(cell, "::before").content.slice(1, -1)))"""
_TOPS = "row => [...row.children].map((cell) => cell.getBoundingClientRect().top)"


@pytest_asyncio.fixture(loop_scope="module")
async def phone(page: Page) -> Page:
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.get_by_role("button", name="Today").click()
    await page.get_by_text("Day by day").click()
    await expect(page.locator("#by-day tbody tr")).to_have_count(len(MODELS))
    return page


@pytest.mark.parametrize("table", _TABLES)
async def test_each_value_has_the_name_of_its_column_before_it(phone: Page, table: str) -> None:
    columns = await phone.locator(f"{table} thead th").all_text_contents()
    rows = await phone.locator(table).evaluate(_NAMES)
    assert rows
    assert all(names == columns[1:] for names in rows)


@pytest.mark.parametrize("table", _TABLES)
async def test_the_values_of_a_row_stand_below_each_other(phone: Page, table: str) -> None:
    tops = await phone.locator(f"{table} tbody tr").first.evaluate(_TOPS)
    assert tops == sorted(set(tops))


async def test_nothing_scrolls_sideways(phone: Page) -> None:
    wide = await phone.evaluate(
        "[document.documentElement, ...document.querySelectorAll('.scroll')]"
        ".filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.outerHTML.slice(0, 80))"
    )
    assert wide == []
