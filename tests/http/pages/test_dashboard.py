"""What the dashboard's page asks for, and under which headers the page comes."""

import asyncio
import datetime
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from frontend.access import api_key
from frontend.administration.keys import OUTCOMES
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.billing.ledger import Charge
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.errors import BadGateway
from tests.charges import other_key, speak
from tests.clocks import LimitsClock
from tests.conftest import KEY, Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton, add_key
from tests.http.calls import EMBED, EMBEDDED, database_away, refusal, status_of
from tests.raw import connection
from tests.samples import Change, total
from tests.unit.billing.conftest import write

ORG_KEY, OTHER_KEY = api_key.new_key(), api_key.new_key()


async def _key_id(registry: Registry, key: str) -> str:
    return next(iter((await registry.find([api_key.digest(key)])).values())).id


@pytest.fixture(autouse=True)
async def ledger(limits_clock: LimitsClock, settings: Settings) -> AsyncIterator[None]:
    """``KEY`` said one thing, and two keys of acme, which has 7 CHF, another each."""
    engine = open_engine(settings.database)
    registry = Registry(engine)
    await registry.create_org("acme", 50)
    await UsageQueries(engine).top_up("acme", 7_000_000, None)
    await add_key(engine, ORG_KEY, org="acme", tier="company", limits={"speech": 9})
    await add_key(engine, OTHER_KEY, org="acme")
    events = [
        Charge(name, name, await _key_id(registry, key), org, "speech", "tts-1", 3, "u", 5, amount, False, 0)
        for name, key, org, amount in (("a", KEY, None, 1), ("b", ORG_KEY, "acme", 20), ("c", OTHER_KEY, "acme", 300))
    ]
    await write(engine, *events)
    yield
    await engine.dispose()


async def _ask(client: Client, path: str, key: str = KEY) -> Any:
    async with client.get(f"/dashboard/data/{path}", headers=bearer(key)) as response:
        assert response.status == 200, await response.text()
        return await response.json()


@pytest.mark.parametrize("path", ["account", "usage", "outcomes"])
async def test_the_dashboard_needs_a_key(client: Client, path: str) -> None:
    assert await status_of(client, f"/dashboard/data/{path}", "x") == 401


async def test_a_key_without_an_organisation_sees_its_own_usage(client: Client) -> None:
    (row,) = (await _ask(client, "usage?by=operation"))["data"]
    assert (row["requests"], row["amount"]) == (1, "0.000001")


async def test_a_key_of_an_organisation_sees_all_of_its_usage(client: Client) -> None:
    (row,) = (await _ask(client, "usage?by=operation", ORG_KEY))["data"]
    assert (row["requests"], row["amount"]) == (2, "0.00032")


async def test_the_usage_of_another_organisation_cannot_be_requested(client: Client) -> None:
    assert await refusal(await client.get("/dashboard/data/usage?org=acme")) == (400, "org")


async def test_the_account_has_balance_and_limits_in_force(client: Client) -> None:
    account = await _ask(client, "account", ORG_KEY)
    limits = {limit["name"]: (limit["limit"], limit["remaining"]) for limit in account["limits"]}
    assert (account["org"], account["tier"], account["balance"]) == ("acme", "company", "7.00")
    assert (limits["speech"], limits["organisation"]) == ((9, 9), (50, 50))


async def test_limits_of_what_a_key_cannot_call_are_left_out(client: Client) -> None:
    names = {limit["name"] for limit in (await _ask(client, "account"))["limits"]}
    assert names == {"transcriptions", "speech", "embeddings", "rerank"}


async def test_a_request_lowers_the_remaining_limits(client: Client) -> None:
    await client.post(EMBED, json={"input": "a"}, headers=bearer(ORG_KEY))
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
    assert head == "key,key_id,key_prefix,requests,audio_seconds,characters,tokens,amount"
    assert re.fullmatch(f"'=1\\+1,[0-9a-f]{{32}},{api_key.prefix(KEY)},1,0,3,0,0.000001", row)


async def _outcomes(client: Client, key: str = KEY) -> dict[str, dict[str, Any]]:
    """Of each operation, all that is more than nothing, when it has been written down."""
    await client.app[OUTCOMES]._write_all()
    first, last = (datetime.date.today() + datetime.timedelta(days=days) for days in (-2, 2))
    rows = (await _ask(client, f"outcomes?first={first}&last={last}", key))["data"]
    return {row.pop("operation"): {name: value for name, value in row.items() if value} for row in rows}


async def test_requests_are_counted_by_how_they_ended(client: Client, triton: FakeTriton, settings: Settings) -> None:
    limited = bearer(await other_key(settings, org="acme", limits={"embeddings": 1}))
    for _ in range(3):
        await client.post(EMBED, json={"input": "a"}, headers=limited)
    for wrong in ({"input": 1}, {"input": "a", "other": 1}):
        await client.post(EMBED, json=wrong, headers=bearer(ORG_KEY))
    triton.failure = BadGateway("no")
    await client.post("/v1/rerank", json={"query": "a", "documents": ["b"]}, headers=limited)
    counted = await _outcomes(client, ORG_KEY)
    assert counted["rerank"] == {"failed": 1}
    outcomes = [counted["embeddings"][name] for name in ("answered", "mistaken", "refused")]
    assert outcomes == [1, 2, 2]
    assert 0 < counted["embeddings"]["p50_seconds"] == counted["embeddings"]["p95_seconds"] < 60
    # A key of no organisation has had no part in it.
    assert await _outcomes(client) == {}


async def test_refusals_for_load_or_balance_are_no_failures(
    client: Client, triton: FakeTriton, settings: Settings
) -> None:
    engine = open_engine(settings.database)
    await Registry(engine).create_org("poor", None)
    await UsageQueries(engine).top_up("poor", 1, None)
    await engine.dispose()
    key = await other_key(settings, org="poor")
    await speak(client, "two", key=key)
    triton.up = False
    await until(lambda: total("quartet_in_flight_bound", model="m3_embedder") == 0)
    await client.post(EMBED, json={"input": "a"}, headers=bearer(key))
    assert await _outcomes(client, key) == {"speech": {"refused": 1}, "embeddings": {"refused": 1}}


async def test_a_disconnect_is_counted_as_an_outcome(client: Client, triton: FakeTriton) -> None:
    triton.wait, left = asyncio.Event().wait, Change("quartet_requests_total", operation="embeddings", status="499")
    async with connection(client.server.port) as (_, writer):
        writer.write(EMBEDDED)
        await until(lambda: triton.calls)
    await until(lambda: left.by)
    assert await _outcomes(client) == {"embeddings": {"hung_up": 1}}


async def test_only_requests_of_keys_for_work_are_counted(client: Client, mobile: dict[str, str]) -> None:
    await client.post(EMBED, json={"input": "a"}, headers=bearer("wrong"))
    await client.post("/api/v1/audio/synthesize", json={"text": "a"}, headers=mobile)
    await client.get("/v1/models")
    await client.get("/v1/nothing")
    assert await _outcomes(client) == {}


@pytest.mark.parametrize("days", ["first=2025-01-01&last=2026-01-02", "first=2020-01-01"])
async def test_more_days_than_a_year_has_are_refused(client: Client, days: str) -> None:
    assert await refusal(await client.get(f"/dashboard/data/outcomes?{days}")) == (400, "first")


async def test_sixty_reports_of_a_key_at_once_are_bounded(client: Client) -> None:
    answers = await asyncio.gather(*(client.get("/dashboard/data/usage", headers=bearer(KEY)) for _ in range(60)))
    assert {answer.status for answer in answers} == {200, 429}
    assert sum(answer.status == 200 for answer in answers) >= 9
    (refused, *_) = (answer for answer in answers if answer.status == 429)
    assert (refused.headers["Retry-After"], (await refused.json())["error"]["type"]) == ("1", "rate_limit_exceeded")


@pytest.mark.parametrize("path", ["account", "usage", "usage?by=key&format=csv", "outcomes"])
async def test_while_the_database_is_away_the_dashboard_is_502(
    client: Client, settings: Settings, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    await _ask(client, path.replace("&format=csv", ""), ORG_KEY)
    with database_away(settings):
        answer = await client.get(f"/dashboard/data/{path}", headers=bearer(ORG_KEY))
        assert (answer.status, answer.headers["Retry-After"]) == (502, "1")
    assert "Traceback" not in caplog.text
    await _ask(client, path.replace("&format=csv", ""), ORG_KEY)


@pytest.mark.parametrize("days", ["", "first=&last=", "last=9999-12-31", "last=0001-01-02"])
async def test_outcomes_without_days_are_those_of_a_year(client: Client, days: str) -> None:
    await client.post(EMBED, json={"input": "a"})
    await client.app[OUTCOMES]._write_all()
    data = (await _ask(client, f"outcomes?{days}"))["data"]
    assert [row["operation"] for row in data] == ([] if days.startswith("last") else ["embeddings"])


async def test_the_account_has_the_daily_spending_of_its_wallet(client: Client, settings: Settings) -> None:
    engine = open_engine(settings.database)
    key_id = await _key_id(Registry(engine), ORG_KEY)
    event = Charge("d", "d", key_id, "acme", "speech", "tts-1", 3, "u", 5, 2_000_000, False, int(time.time()))
    await write(engine, event)
    await engine.dispose()
    assert (await _ask(client, "account", ORG_KEY))["spent_a_day"] == "2.00"
    assert (await _ask(client, "account"))["spent_a_day"] is None
