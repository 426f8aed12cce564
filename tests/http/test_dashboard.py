"""What the dashboard's page asks for, and under which headers the page comes."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from frontend.access import api_key
from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.usage.books import Books
from frontend.usage.events import UsageEvent
from tests.clocks import LimitsClock
from tests.conftest import KEY, Client
from tests.fakes import add_key
from tests.unit.usage.conftest import write

ORG_KEY, OTHER_KEY = api_key.new_key(), api_key.new_key()


async def _key_id(registry: Registry, key: str) -> str:
    return next(iter((await registry.find([api_key.digest(key)])).values())).id


@pytest.fixture(autouse=True)
async def ledger(limits_clock: LimitsClock, settings: Settings) -> AsyncIterator[None]:
    """``KEY`` said one thing, and two keys of acme, which has 7 CHF, another each."""
    engine = open_engine(settings.database)
    registry = Registry(engine)
    await registry.create_org("acme", 50)
    await Books(engine).top_up("acme", 7_000_000, None)
    await add_key(registry, ORG_KEY, org="acme", tier="company", limits={"speech": 9})
    await add_key(registry, OTHER_KEY, org="acme")
    events = [
        UsageEvent(name, name, await _key_id(registry, key), org, "speech", "tts-1", 3, "u", 5, amount, False, 0)
        for name, key, org, amount in (("a", KEY, None, 1), ("b", ORG_KEY, "acme", 20), ("c", OTHER_KEY, "acme", 300))
    ]
    await write(engine, *events)
    yield
    await engine.dispose()


async def _ask(client: Client, path: str, key: str = KEY) -> Any:
    async with client.get(f"/dashboard/data/{path}", headers={"Authorization": f"Bearer {key}"}) as response:
        assert response.status == 200, await response.text()
        return await response.json()


@pytest.mark.parametrize("path", ["account", "usage"])
async def test_it_needs_a_key(client: Client, path: str) -> None:
    async with client.get(f"/dashboard/data/{path}", headers={"Authorization": "Bearer x"}) as response:
        assert response.status == 401


async def test_a_key_without_an_organisation_sees_its_own_usage(client: Client) -> None:
    (row,) = (await _ask(client, "usage?by=operation"))["data"]
    assert (row["requests"], row["amount"]) == (1, "0.000001")


async def test_a_key_of_an_organisation_sees_all_of_its_usage(client: Client) -> None:
    (row,) = (await _ask(client, "usage?by=operation", ORG_KEY))["data"]
    assert (row["requests"], row["amount"]) == (2, "0.00032")


async def test_nobody_asks_for_the_usage_of_others(client: Client) -> None:
    async with client.get("/dashboard/data/usage?org=acme") as response:
        assert (response.status, (await response.json())["error"]["param"]) == (400, "org")


async def test_the_account_has_balance_and_limits_in_force(client: Client) -> None:
    account = await _ask(client, "account", ORG_KEY)
    limits = {limit["name"]: (limit["limit"], limit["remaining"]) for limit in account["limits"]}
    assert (account["org"], account["tier"], account["balance"]) == ("acme", "company", "7.00")
    assert (limits["speech"], limits["organisation"]) == ((9, 9), (50, 50))


async def test_limits_of_what_a_key_cannot_call_are_left_out(client: Client) -> None:
    names = {limit["name"] for limit in (await _ask(client, "account"))["limits"]}
    assert names == {"transcriptions", "speech", "embeddings", "rerank"}


async def test_a_request_shows_in_what_is_left(client: Client) -> None:
    await client.post("/v1/embeddings", json={"input": "a"}, headers={"Authorization": f"Bearer {ORG_KEY}"})
    account = await _ask(client, "account", ORG_KEY)
    left = {limit["name"]: limit["limit"] - limit["remaining"] for limit in account["limits"]}
    assert {name: used for name, used in left.items() if used} == {"embeddings": 1, "organisation": 1}


async def test_usage_comes_as_a_file_that_spreadsheets_do_not_run(client: Client, settings: Settings) -> None:
    engine = open_engine(settings.database)
    await Registry(engine).change(api_key.prefix(KEY), {"name": "=1+1"}, {})
    await engine.dispose()
    async with client.get("/dashboard/data/usage?by=key&format=csv") as response:
        assert "attachment" in response.headers["Content-Disposition"]
        head, row = (await response.text()).splitlines()
    assert head == "key,key_id,requests,audio_seconds,characters,tokens,amount"
    assert re.fullmatch("'=1\\+1,[0-9a-f]{32},1,0,3,0,0.000001", row)
