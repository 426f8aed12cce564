"""What the dashboard shows is what the ledger has."""

import asyncio
import csv
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from frontend.access import api_key
from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.catalogue.models import MODELS
from frontend.catalogue.prices import to_chf
from tests.browser.dashboard.ledger import ACME, FIRST, MARKUP, TODAY, Account, choose, exact, opened, totals

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("group", ["model", "operation", "key"])
async def test_the_dashboard_shows_the_numbers_of_the_ledger(page: Page, books: UsageQueries, group: str) -> None:
    await choose(page, group)
    sums = sorted(await books.usage(ACME, [group]), key=lambda each: -each.amount)
    assert await exact(page, "#totals tbody") == [each.amount for each in sums]
    assert [row[2] for row in await totals(page)] == [f"{each.requests:,}" for each in sums]
    amount = sum(each.amount for each in sums)
    assert await exact(page, "#totals tfoot") == [amount]
    assert await page.locator("#cost").inner_text() == f"{amount / 1e6:,.2f} CHF"
    assert await page.locator("#requests").inner_text() == f"{sum(each.requests for each in sums):,}"


async def test_the_account_has_its_balance_and_limits(page: Page) -> None:
    assert await page.locator("#balance").inner_text() == "7.00 CHF"
    assert await page.locator("#balance").get_attribute("title") == "7.000005 CHF"
    limits = await page.locator("#limits tr").all_inner_texts()
    assert any(re.fullmatch(r"organisation\s+50 of 50\s*", line) for line in limits)


async def test_the_csv_has_the_numbers_of_the_ledger(page: Page, books: UsageQueries, tmp_path: Path) -> None:
    await choose(page, "operation")
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Download CSV").click()
    await (await downloading.value).save_as(tmp_path / "usage.csv")
    with (tmp_path / "usage.csv").open(encoding="utf-8", newline="") as file:
        found = {(row["day"], row["operation"], row["requests"], row["amount"]) for row in csv.DictReader(file)}
    sums = await books.usage(ACME, ["day", "operation"])
    assert found == {(*each.group, str(each.requests), to_chf(each.amount)) for each in sums}


async def test_each_unit_has_a_column_of_its_own(page: Page) -> None:
    await choose(page, "key")
    heads = await page.locator("#totals thead th").all_inner_texts()
    assert heads == ["Key", "CHF", "Requests", "Audio", "Characters", "Tokens"]
    # Two models hear, two speak, and three count tokens.
    hour = f"{30 * (7_000 + 7_001) / 60_000:.1f} min"
    units = ["210", hour, f"{30 * (7_002 + 7_003):,}", f"{30 * (7_004 + 7_005 + 7_006):,}"]
    assert [row[2:] for row in await totals(page)] == [units] * 3


async def test_keys_of_one_name_are_shown_with_their_prefix(page: Page, accounts: dict[str, Account]) -> None:
    await choose(page, "key")
    prefixes = {name: f"({api_key.prefix(account.key)}…)" for name, account in accounts.items()}
    wanted = {f"search {prefixes['first']}", f"search {prefixes['second']}", f"{MARKUP} {prefixes['third']}"}
    assert {row[0] for row in await totals(page)} == wanted
    assert set(await page.locator("#legend li").all_inner_texts()) == wanted


async def test_days_are_shown_on_demand(page: Page, books: UsageQueries) -> None:
    assert await page.locator("#by-day tr").count() == 0
    await page.get_by_text("Day by day").click()
    await expect(page.locator("#by-day tbody tr")).to_have_count(30 * len(MODELS))
    assert sorted(await exact(page, "#by-day")) == sorted(
        each.amount for each in await books.usage(ACME, ["day", "model"])
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [("Today", TODAY), ("7 days", "2026-11-15"), ("30 days", FIRST), ("This month", "2026-11-01")],
)
async def test_a_button_asks_for_its_days(page: Page, books: UsageQueries, name: str, first: str) -> None:
    button = page.get_by_role("button", name=name)
    async with page.expect_response("**/data/usage*") as asking:
        await button.click()
    assert f"first={first}&last={TODAY}&" in (await asking.value).url
    await expect(button).to_have_attribute("aria-pressed", "true")
    amount = sum(each.amount for each in await books.usage(UsageFilter(first, TODAY, org=ACME.org), ["day"]))
    await expect(page.locator("#cost")).to_have_attribute("title", f"{amount / 1e6:,.6f} CHF")


async def test_days_can_be_typed(page: Page, books: UsageQueries) -> None:
    for field in ("From", "To"):
        await page.get_by_label(field, exact=True).fill("2026-11-10")
        await page.get_by_label(field, exact=True).dispatch_event("change")
    amount = sum(
        each.amount for each in await books.usage(UsageFilter("2026-11-10", "2026-11-10", org=ACME.org), ["day"])
    )
    await expect(page.locator("#cost")).to_have_attribute("title", f"{amount / 1e6:,.6f} CHF")
    assert await page.locator("[aria-pressed=true]").count() == 0


async def test_outcomes_are_shown_by_operation(page: Page) -> None:
    row = page.locator("#outcomes tr")
    assert await row.locator("th, td").all_inner_texts() == [
        *("Text to speech", "10", "2", "1,234", "5", "6"),
        *("54 ms", "1.7 s"),
    ]


async def test_the_axis_has_the_currency_and_two_decimals(page: Page) -> None:
    await page.evaluate("labels.length = 0")
    await page.locator("#measure").select_option("requests")
    await page.locator("#measure").select_option("amount")
    async with asyncio.timeout(30):
        while "CHF" not in (labels := await page.evaluate("labels")):
            pass
    values = [label for label in labels[labels.index("CHF") :] if re.fullmatch(r"[\d.,]+", label)]
    assert values
    assert all(re.fullmatch(r"[\d,]+\.\d\d", value) for value in values)


@pytest.mark.parametrize("measure", ["amount", "requests"])
async def test_the_axis_shows_nothing_between_whole_requests_and_micro_chf(
    page: Page, url: str, accounts: dict[str, Account], measure: str
) -> None:
    await opened(page, url, accounts["little"].key)
    await page.evaluate("labels.length = 0")
    await page.locator("#measure").select_option("tokens")
    await page.locator("#measure").select_option(measure)
    wanted = {"amount": ["0.000000", "0.000001", "0.000002"], "requests": ["0", "1"]}[measure]
    async with asyncio.timeout(30):
        while wanted[-1] not in (labels := await page.evaluate("labels")):
            pass
    assert [label for label in labels if re.fullmatch(r"[\d.]+", label)][-len(wanted) :] == wanted


async def test_less_than_a_cent_is_shown_as_such(page: Page, url: str, accounts: dict[str, Account]) -> None:
    await opened(page, url, accounts["little"].key)
    assert (await totals(page))[0][1] == "< 0.01"
    assert await page.locator("#cost").inner_text() == "< 0.01 CHF"
    assert await exact(page, "#totals tbody") == [2]
    await expect(page.locator("#burn")).to_be_hidden()
