import time
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.administration.audit import AuditFilter
from frontend.administration.listing import EVERY_KEY, KeyFilter
from frontend.administration.names import MissingError
from frontend.administration.paging import Page
from frontend.administration.registry import Registry
from frontend.database.tables import SECRETS
from tests.unit.access.conftest import create_key


@pytest.fixture
async def registry(engine: AsyncEngine) -> Registry:
    made = Registry(engine)
    await made.create_org("Acme", None)
    return made


async def _names(registry: Registry, **search: Any) -> list[str]:
    return sorted(entry.name for entry in await registry.entries(KeyFilter(**search)))


async def test_keys_are_searched_by_name_organisation_and_beginning(registry: Registry) -> None:
    keys = [await create_key(registry, name=name, org=org) for name, org in (("Search 50%", "Acme"), ("speech", None))]
    assert await _names(registry, text="search") == ["Search 50%"]
    assert await _names(registry, text="cme") == ["Search 50%"]
    assert await _names(registry, text=api_key.prefix(keys[1])[:8]) == ["speech"]
    assert await _names(registry, text=keys[1]) == ["speech"]
    assert await _names(registry, text="%") == ["Search 50%"]
    assert await _names(registry, text="_peech") == []
    assert await _names(registry, org="Acme") == ["Search 50%"]
    assert await _names(registry, org="acme") == []


async def test_the_active_filter_leaves_out_revoked_and_expired_keys(registry: Registry) -> None:
    now = int(time.time())
    keys = {name: await create_key(registry, name=name, expires_at=end) for name, end in _ends(now).items()}
    await registry.revoke(keys["revoked"])
    await registry.rotate(keys["rotated"], 0)
    assert await _names(registry, active=True) == ["ends later", "plain", "rotated"]
    assert len(await registry.entries()) == 6


def _ends(now: int) -> dict[str, int | None]:
    return {"plain": None, "revoked": None, "rotated": None, "ended": now - 1, "ends later": now + 3600}


@pytest.mark.parametrize("newest_first", [False, True])
async def test_keys_of_the_same_second_are_paged(registry: Registry, newest_first: bool) -> None:
    for number in range(7):
        await create_key(registry, name=f"key {number}")
    whole = [entry.prefix for entry in await registry.entries(EVERY_KEY, Page(None, None, newest_first))]
    found: list[str] = []
    for _ in range(4):
        part = await registry.entries(EVERY_KEY, Page(3, found[-1] if found else None, newest_first))
        found += [entry.prefix for entry in part]
    assert (found, len(set(found))) == (whole, 7)


async def test_organisations_are_paged_and_searched(registry: Registry) -> None:
    for name in ("beta", "gamma"):
        await registry.create_org(name, None)
    assert [org for org, _, _ in await registry.orgs("", Page(2))] == ["Acme", "beta"]
    assert [org for org, _, _ in await registry.orgs("", Page(2, "beta"))] == ["gamma"]
    assert [org for org, _, _ in await registry.orgs("AMM")] == ["gamma"]
    assert [await registry.orgs(text) for text in ("%", "_")] == [[], []]


async def test_an_unknown_after_is_refused(registry: Registry) -> None:
    for refused in (registry.entries(EVERY_KEY, Page(2, "qk_nothing")), registry.orgs("", Page(2, "nobody"))):
        with pytest.raises(MissingError, match="after"):
            await refused


async def test_the_last_use_of_a_secret_is_listed(registry: Registry, engine: AsyncEngine) -> None:
    used, other = [await create_key(registry, name=name) for name in ("used", "other")]
    await registry.note_used([api_key.digest(used)])
    (first,) = [entry.last_used_at for entry in await registry.entries() if entry.prefix == api_key.prefix(used)]
    assert first is not None
    assert abs(first - time.time()) < 60
    assert [entry.last_used_at for entry in await registry.entries() if entry.prefix == api_key.prefix(other)] == [None]


async def test_the_use_of_a_key_is_written_once_a_minute(registry: Registry, engine: AsyncEngine) -> None:
    digest, now = api_key.digest(await create_key(registry, name="used")), int(time.time())
    for before, written in ((now - 50, False), (now - 70, True)):
        async with engine.begin() as connection:
            await connection.execute(update(SECRETS).values(last_used_at=before))
        await registry.note_used([digest])
        (entry,) = await registry.entries()
        assert (entry.last_used_at != before) is written


async def test_the_audit_log_is_paged(registry: Registry) -> None:
    for number in range(5):
        await registry.create_org(f"org {number}", None)
    found: list[str] = []
    after: int | None = None
    for _ in range(3):
        part = await registry.changes(AuditFilter(), Page(2, after, newest_first=True))
        found += [change.target for change in part]
        after = part[-1].id
    assert found == [*(f"org {number}" for number in (4, 3, 2, 1, 0)), "Acme"]
