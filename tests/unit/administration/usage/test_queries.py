import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.administration.audit import ADMIN_KEY, Actor, AuditFilter
from frontend.administration.names import RegistryError
from frontend.administration.paging import EVERYTHING, Page
from frontend.administration.registry import Registry
from frontend.administration.usage import queries as module
from frontend.administration.usage.queries import UsageFilter, UsageQueries, UsageTotal
from frontend.billing.wallets import Wallets
from frontend.database.tables import SECRETS, TOPUPS, USAGE_EVENTS, WALLETS
from frontend.errors import RateLimited
from tests.eventually import until
from tests.unit.billing.conftest import event, write

ANNA = Actor(ADMIN_KEY, "10.0.0.7")
_EVER = ("1970-01-01", "2999-12-31")


async def test_there_is_no_balance_before_the_first_top_up(queries: UsageQueries) -> None:
    assert await queries.balance("acme") is None


async def test_a_repeated_top_up_counts_once(queries: UsageQueries) -> None:
    assert [await queries.top_up("acme", 100, name) for name in ("one", "one", "two")] == [100, 100, 200]


async def test_top_ups_at_the_same_time_all_count(queries: UsageQueries) -> None:
    await asyncio.gather(*(queries.top_up("acme", 10, str(number)) for number in range(8)))
    assert await queries.balances() == {"acme": 80}


@pytest.mark.parametrize(("org", "amount"), [("acme", 70), ("zenith", 100)])
async def test_a_reference_names_one_top_up(queries: UsageQueries, org: str, amount: int) -> None:
    await queries.top_up("acme", 100, "one")
    with pytest.raises(RegistryError, match="one"):
        await queries.top_up(org, amount, "one")


async def test_a_reference_that_another_organisation_takes_meanwhile_is_refused(
    engine: AsyncEngine, queries: UsageQueries
) -> None:
    async with engine.begin() as other:
        await other.execute(sa.insert(WALLETS).values(org="zenith", balance=7))
        row = {"reference": "one", "org": "zenith", "amount": 7, "at": 0}
        await other.execute(sa.insert(TOPUPS).values(**row))
        topping_up = asyncio.create_task(queries.top_up("acme", 7, "one"))
        await asyncio.sleep(0.3)
    with pytest.raises(RegistryError, match="reference one"):
        await topping_up
    assert await queries.balances() == {"zenith": 7}


@pytest.mark.parametrize(("org", "amount"), [("nobody", 100), ("acme", 0), ("acme", -5)])
async def test_a_top_up_needs_an_organisation_and_an_amount(queries: UsageQueries, org: str, amount: int) -> None:
    with pytest.raises(RegistryError):
        await queries.top_up(org, amount, None)


async def test_a_wallet_holds_a_billion_at_most(queries: UsageQueries) -> None:
    await queries.top_up("acme", 10**15, "all")
    with pytest.raises(RegistryError, match="billion"):
        await queries.top_up("acme", 1, "more")
    assert (await queries.top_up("acme", 10**15, "all"), type(await queries.balance("acme"))) == (10**15, int)


async def test_the_balance_includes_reservations(engine: AsyncEngine, queries: UsageQueries) -> None:
    await queries.top_up("acme", 100, None)
    for amount in (10, 20):
        await Wallets(engine, "holder").reserve("acme", amount, asyncio.get_running_loop().time() + 5)
    assert (await queries.balance("acme"), await queries.top_up("acme", 5, None)) == (100, 105)


async def _noted(engine: AsyncEngine) -> list[tuple[str, str, dict[str, Any]]]:
    """(action, target, details) of all changes, without those of the fixture."""
    changes = await Registry(engine).changes(AuditFilter(), EVERYTHING)
    return [(each.action, each.target, dict(each.details)) for each in changes if each.action != "org.create"]


async def test_a_top_up_is_logged_once(engine: AsyncEngine, queries: UsageQueries) -> None:
    for _ in range(2):
        await queries.top_up("acme", 25_500_000, "invoice")
    assert await _noted(engine) == [("wallet.top_up", "acme", {"amount": "25.50", "reference": "invoice"})]


async def test_a_deletion_of_charges_is_logged_once(
    engine: AsyncEngine, queries: UsageQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PRUNED_AT_ONCE", 1)
    await write(engine, event("a", at=0), event("b", at=1))
    for _ in range(2):
        await queries.prune(5)
    assert await _noted(engine) == [("usage.prune", "", {"before": 5})]


async def test_top_ups_of_the_same_second_are_paged(queries: UsageQueries) -> None:
    for number in range(5):
        await queries.top_up("acme", 1 + number, f"invoice {number}")
    found: list[str] = []
    for _ in range(4):
        part = await queries.top_ups("acme", Page(2, found[-1] if found else None, newest_first=True))
        found += [each.reference for each in part]
    assert sorted(found) == [f"invoice {number}" for number in range(5)]
    assert await queries.top_ups("zenith", Page()) == []


async def test_balances_of_given_organisations_are_returned(queries: UsageQueries) -> None:
    for org in ("acme", "zenith"):
        await queries.top_up(org, 100, None)
    assert await queries.balances(["zenith", "nobody"]) == {"zenith": 100}


async def test_usage_is_grouped_by_the_requested_columns(engine: AsyncEngine, queries: UsageQueries) -> None:
    await write(engine, event("a", 3), event("b", 4, at=86_400), event("c", 9, org="zenith"))
    assert await queries.usage(UsageFilter(*_EVER, org="acme"), ["day"]) == [
        UsageTotal(("1970-01-01",), 1, 0, 1, 0, 3),
        UsageTotal(("1970-01-02",), 1, 0, 1, 0, 4),
    ]


async def test_usage_is_grouped_by_organisation(engine: AsyncEngine, queries: UsageQueries) -> None:
    await write(engine, event("a", 3), event("b", 4, org=None, prepaid=False), event("c", 9, org="zenith"))
    sums = await queries.usage(UsageFilter(*_EVER), ["org"])
    assert [(each.group, each.amount) for each in sums] == [(("",), 4), (("acme",), 3), (("zenith",), 9)]


@pytest.mark.parametrize("owner", ["org", "key_id"])
async def test_usage_of_one_owner_uses_an_index(engine: AsyncEngine, queries: UsageQueries, owner: str) -> None:
    is_sqlite = engine.dialect.name == "sqlite"
    explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    query = f"SELECT sum(amount) FROM usage_days WHERE {owner} = 'acme' AND day BETWEEN '1' AND '2'"
    async with engine.connect() as connection:
        if not is_sqlite:
            # Else it looks through a small table whatever there is.
            await connection.execute(sa.text("SET enable_seqscan = off"))
        told = [row[-1] for row in await connection.execute(sa.text(f"{explain} {query}"))]
    assert any(f"usage_days_{owner}_day" in line for line in told)


async def test_usage_of_other_days_is_left_out(engine: AsyncEngine, queries: UsageQueries) -> None:
    await write(engine, event("a", 3), event("b", 4, at=86_400), event("c", 5, at=2 * 86_400))
    assert await queries.usage(UsageFilter("1970-01-02", "1970-01-02"), ["operation"]) == [
        UsageTotal(("speech",), 1, 0, 1, 0, 4)
    ]


async def test_quantities_in_different_units_are_not_added(engine: AsyncEngine, queries: UsageQueries) -> None:
    work = {"tts-1": "speech", "stt-1": "transcriptions", "embed-m3": "embeddings", "rerank-v2-m3": "rerank"}
    events = [
        replace(event(model, org=None), model=model, operation=operation, quantity=10**place)
        for place, (model, operation) in enumerate([*work.items(), ("chat", "chat")])
    ]
    await write(engine, *events)
    assert await queries.usage(UsageFilter(*_EVER), ["key"]) == [UsageTotal(("key",), 5, 10, 1, 11_100, 25)]


async def test_more_sums_than_wanted_are_refused(engine: AsyncEngine, queries: UsageQueries) -> None:
    await write(engine, event("a", at=0), event("b", at=100_000))
    assert len(await queries.usage(UsageFilter(*_EVER), ["day"], 2)) == 2
    with pytest.raises(RegistryError, match="more than 1"):
        await queries.usage(UsageFilter(*_EVER), ["day"], 1)


@pytest.mark.parametrize(("askers", "at_once"), [("abcdefgh", 2), ("aaaa", 1)])
async def test_two_reports_run_at_once_but_one_for_each_asker(
    engine: AsyncEngine, queries: UsageQueries, monkeypatch: pytest.MonkeyPatch, askers: str, at_once: int
) -> None:
    await write(engine, event("one"))
    begun, goes_on, put_together = [], threading.Event(), module._totals

    def slow(rows: Any, groups: int) -> list[UsageTotal]:
        begun.append(rows)
        goes_on.wait(20)
        return put_together(rows, groups)

    monkeypatch.setattr(module, "_totals", slow)
    reports = [asyncio.create_task(queries.asked_by(one).usage(UsageFilter(*_EVER), ["day"])) for one in askers]
    await until(lambda: len(begun) == at_once)
    assert await queries.balance("acme") is None
    assert len(begun) == at_once
    goes_on.set()
    assert len(await asyncio.gather(*reports)) == len(begun) == len(askers)


async def test_more_than_eight_waiting_reports_of_an_asker_are_refused(queries: UsageQueries) -> None:
    async def ask(asker: str) -> list[UsageTotal] | str:
        try:
            return await queries.asked_by(asker).usage(UsageFilter(*_EVER), ["day"])
        except RateLimited as error:
            return error.headers["Retry-After"]

    several = await asyncio.gather(*(ask("a") for _ in range(12)), *(ask("b") for _ in range(2)))
    assert several == [[]] * 9 + ["1"] * 3 + [[]] * 2
    assert (await ask("a"), queries._asked) == ([], {})


async def test_an_organisation_sees_only_its_own_key_names(engine: AsyncEngine, queries: UsageQueries) -> None:
    registry = Registry(engine)
    key = await registry.create("search", "free", "acme", {}, None)
    (found,) = (await registry.find([api_key.digest(key)])).values()
    for org in ("acme", None):
        assert await queries.key_names([found.id, "phone-1"], org) == {found.id: ("search", api_key.prefix(key))}
    await registry.change(api_key.prefix(key), {"org": "zenith", "name": "what zenith calls it"}, {})
    assert await queries.key_names([found.id], "acme") == {}


async def test_a_key_name_has_the_prefix_of_the_newest_secret(engine: AsyncEngine, queries: UsageQueries) -> None:
    registry = Registry(engine)
    old = await registry.create("search", "free", "acme", {}, None)
    new = await registry.rotate(old, 60)
    (found,) = (await registry.find([api_key.digest(new)])).values()
    for first, last in ((old, new), (new, old)):
        async with engine.begin() as connection:
            for key, at in ((first, 1), (last, 2)):
                own = SECRETS.c.digest == api_key.digest(key)
                await connection.execute(sa.update(SECRETS).where(own).values(created_at=at))
        assert await queries.key_names([found.id]) == {found.id: ("search", api_key.prefix(last))}


async def test_old_charges_are_deleted_and_their_sums_stay(
    engine: AsyncEngine, queries: UsageQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PRUNED_AT_ONCE", 2)
    old = [event(str(number), prepaid=False, at=number) for number in range(5)]
    await write(engine, *old, event("kept", prepaid=False, at=5))
    assert await queries.prune(5) == 5
    assert await queries.usage(UsageFilter(*_EVER), []) == [UsageTotal((), 6, 0, 6, 0, 30)]
    async with engine.connect() as connection:
        assert list(await connection.scalars(sa.select(USAGE_EVENTS.c.id))) == ["kept"]


async def test_charges_that_may_come_again_are_kept(queries: UsageQueries) -> None:
    with pytest.raises(RegistryError, match="30 days"):
        await queries.prune(int(time.time()) - 29 * 86_400)
