"""Keys with thirty days of usage, and how a page that shows it is read."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from playwright.async_api import Page
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.administration.registry import Registry
from frontend.administration.usage.outcomes import UNTIMED
from frontend.administration.usage.queries import UsageFilter, UsageQueries
from frontend.billing.ledger import Charge
from frontend.catalogue.models import MODELS
from frontend.database.tables import REQUEST_OUTCOMES
from tests.unit.billing.conftest import write

_DAY = 86_400
# The page's clock stands here, so that no day ends within a test.
NOW = 1_795_262_400
TODAY, FIRST = "2026-11-21", "2026-10-23"
MARKUP = "<img src=x onerror='window.hurt = 1'><script>window.hurt = 1;\"><b>"
ACME = UsageFilter(FIRST, TODAY, org="<img src=x onerror='window.hurt = 1'>acme")
TIMES = {10: 7, 20: 3}


@dataclass(frozen=True)
class Account:
    """A key as it signs in, and as the ledger knows it."""

    key: str
    id: str


def _events(name: str, key_id: str, org: str | None, days: int, amount: int) -> list[Charge]:
    """Usage of every model on each of ``days``, each day another amount."""
    return [
        Charge(
            id=f"{name} {day} {place}",
            request_id=name,
            key_id=key_id,
            org=org,
            operation=model.operation,
            model=model.id,
            quantity=7_000 + place,
            unit="unit",
            price=1,
            amount=amount * (place + 1) + day,
            prepaid=False,
            at=NOW - day * _DAY,
        )
        for day in range(days)
        for place, model in enumerate(MODELS.values())
    ]


def _ended(org: str, key_id: str, outcome: str, requests: int, time_class: int = UNTIMED) -> dict[str, Any]:
    named = {"org": org, "key_id": key_id, "day": TODAY, "operation": "speech"}
    return named | {"outcome": outcome, "time_class": time_class, "requests": requests}


async def fill(engine: AsyncEngine) -> dict[str, Account]:
    """Three keys of an organisation, two of one name; one of nobody's that has used a little, and one nothing."""
    registry, org = Registry(engine), str(ACME.org)
    await registry.create_org(org, 50)
    found = {}
    for name, called, of in (
        ("first", "search", org),
        ("second", "search", org),
        ("third", MARKUP, org),
        ("little", "little", None),
        ("unused", "unused", None),
    ):
        key = await registry.create(called, "free", of, {}, None)
        (caller,) = (await registry.find([api_key.digest(key)])).values()
        found[name] = Account(key, caller.id)
    await UsageQueries(engine).top_up(org, 7_000_005, None)
    many = [_events(name, found[name].id, org, 30, 1_000_003) for name in ("first", "second", "third")]
    rerank = Charge("l", "l", found["little"].id, None, "rerank", "rerank-v2-m3", 5, "u", 1, 2, False, NOW)
    await write(engine, *(event for events in many for event in events), rerank)
    rows = [
        *(_ended(org, found["first"].id, "answered", requests, place) for place, requests in TIMES.items()),
        _ended(org, found["first"].id, "mistaken", 2),
        *(_ended(org, found["second"].id, name, n) for name, n in (("refused", 1_234), ("failed", 5), ("hung_up", 6))),
    ]
    async with engine.begin() as connection:
        await connection.execute(sa.insert(REQUEST_OUTCOMES), rows)
    return found


async def opened(page: Page, url: str, key: str) -> Page:
    """The page, signed in with a key that the tab has."""
    if not page.url.startswith(url):
        await page.goto(url.replace("/dashboard", "/health/live"))
    await page.evaluate("key => sessionStorage.setItem('quartet-key', key)", key)
    await page.goto(url)
    await page.locator("#used:visible, #nothing:visible").wait_for()
    return page


async def choose(page: Page, by: str) -> None:
    await page.locator("#by").select_option(by)
    await page.locator("#totals").get_by_role("columnheader", name=by.title()).wait_for()


async def totals(page: Page) -> list[list[str]]:
    rows = await page.locator("#totals tbody tr").all()
    return [await row.locator("th, td").all_inner_texts() for row in rows]


async def exact(page: Page, place: str) -> list[int]:
    """The amounts of a place, in micro-CHF."""
    titles = await page.locator(f"{place} [title$=CHF]").evaluate_all("cells => cells.map((cell) => cell.title)")
    return [round(float(title.removesuffix(" CHF").replace(",", "")) * 1e6) for title in titles]
