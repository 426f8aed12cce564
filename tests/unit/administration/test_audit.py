import json
import os
import pwd
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.access.stored_keys import AuditEntry
from frontend.administration import audit
from frontend.administration.audit import ADMIN_KEY, COMMAND_LINE, Actor, AuditFilter
from frontend.administration.names import RegistryError
from frontend.administration.paging import Page
from frontend.administration.registry import Registry
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.unit.access.conftest import create_key

ANYTHING, NEWEST = AuditFilter(), Page(100, newest_first=True)
ANNA = Actor(ADMIN_KEY, "10.0.0.7")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    await migrate(opened)
    yield opened
    await opened.dispose()


@pytest.fixture
def registry(engine: AsyncEngine) -> Registry:
    return Registry(engine).acting(ANNA)


async def _last(registry: Registry) -> AuditEntry:
    return (await registry.changes(ANYTHING, NEWEST))[0]


_CHANGES: list[tuple[Callable[[Registry, str], Awaitable[object]], str, dict[str, Any]]] = [
    (lambda registry, key: registry.rotate(key, 60), "key.rotate", {"overlap": 60}),
    (lambda registry, key: registry.revoke(key), "key.revoke", {}),
    (
        lambda registry, key: registry.change(key, {"tier": "free"}, {"speech": None}),
        "key.change",
        {"tier": "free", "limits": {"speech": None}},
    ),
]


@pytest.mark.parametrize(("change", "action", "details"), _CHANGES, ids=[action for _, action, _ in _CHANGES])
async def test_a_change_of_a_key_is_logged_without_the_key(
    registry: Registry, change: Callable[[Registry, str], Awaitable[object]], action: str, details: dict[str, Any]
) -> None:
    key = await create_key(registry)
    made = await _last(registry)
    answer = await change(registry, key)
    last = await _last(registry)
    assert (last.actor, last.origin, last.action, last.target) == (*vars(ANNA).values(), action, api_key.prefix(key))
    new = {"new": api_key.prefix(str(answer))} if answer else {}
    assert last.details == {"id": made.details["id"], **details, **new}
    assert abs(last.at - time.time()) < 60
    told = json.dumps([vars(each) for each in (made, last)])
    assert not [secret for secret in (key, answer) if secret and str(secret) in told]


async def test_a_new_key_is_logged_with_its_values(registry: Registry) -> None:
    await registry.create_org("acme", 50)
    made_org = await _last(registry)
    assert (made_org.action, made_org.target, made_org.details) == ("org.create", "acme", {"requests_per_minute": 50})
    key = await create_key(registry, tier="pro", org="acme", limits={"speech": 5}, expires_at=9)
    made = await _last(registry)
    details = dict(made.details)
    assert (made.action, made.target, len(details.pop("id"))) == ("key.create", api_key.prefix(key), 32)
    assert details == {"name": "test", "tier": "pro", "org": "acme", "limits": {"speech": 5}, "expires_at": 9}
    await registry.change_org("acme", None)
    assert (await _last(registry)).details == {"requests_per_minute": None}


async def test_refused_changes_are_not_logged(registry: Registry) -> None:
    await registry.create_org("acme", None)
    for refused in (
        registry.create_org("acme", None),
        registry.revoke("qk_nothing"),
        registry.change_org("nobody", 1),
        create_key(registry, org="nobody"),
    ):
        with pytest.raises(RegistryError):
            await refused
    assert len(await registry.changes(ANYTHING, NEWEST)) == 1


async def test_a_change_that_cannot_be_written_down_is_not_made(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await create_key(registry)

    async def fail(*arguments: object, **details: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(audit, "note", fail)
    with pytest.raises(OSError):
        await registry.revoke(key)
    assert [entry.revoked_at for entry in await registry.entries()] == [None]


async def test_the_default_actor_is_the_user_of_the_process(engine: AsyncEngine) -> None:
    registry = Registry(engine)
    await registry.create_org("acme", None)
    last = await _last(registry)
    assert (last.actor, last.origin) == (COMMAND_LINE, pwd.getpwuid(os.getuid()).pw_name)


async def test_a_user_without_a_name_is_logged_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)
    assert Actor.of_process() == Actor(COMMAND_LINE, "4000000001")


async def test_changes_are_filtered(registry: Registry, engine: AsyncEngine) -> None:
    await registry.create_org("acme", None)
    await Registry(engine).create_org("zenith", None)
    await registry.change_org("acme", 5)
    wanted = {
        AuditFilter(target="acme"): ["org.change", "org.create"],
        AuditFilter(actor=COMMAND_LINE): ["org.create"],
        AuditFilter(action="org.change"): ["org.change"],
        AuditFilter(since=int(time.time()) + 3600): [],
    }
    found = {each: [change.action for change in await registry.changes(each, NEWEST)] for each in wanted}
    assert found == wanted


@pytest.mark.parametrize(("later", "found"), [(0, 1), (1, 0)])
async def test_changes_since_a_time_include_that_second(registry: Registry, later: int, found: int) -> None:
    await registry.create_org("acme", None)
    at = (await _last(registry)).at
    assert len(await registry.changes(AuditFilter(since=at + later), NEWEST)) == found


async def test_a_long_origin_is_cut(registry: Registry) -> None:
    await registry.acting(Actor(ADMIN_KEY, "x" * 500)).create_org("acme", None)
    assert (await _last(registry)).origin == "x" * 128
