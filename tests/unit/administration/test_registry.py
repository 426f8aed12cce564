import time

import pytest
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.access import api_key
from frontend.access.caller import Caller
from frontend.administration.names import RegistryError
from frontend.administration.registry import Registry
from frontend.database.tables import KEYS, ORGS, SECRETS
from tests.unit.access.conftest import create_key


@pytest.fixture
def registry(engine: AsyncEngine) -> Registry:
    return Registry(engine)


async def _is_found(registry: Registry, key: str) -> bool:
    return api_key.digest(key) in await registry.find([api_key.digest(key)])


async def _caller(registry: Registry, key: str) -> Caller:
    return (await registry.find([api_key.digest(key)]))[api_key.digest(key)]


async def test_a_key_is_found_with_everything_it_was_given(registry: Registry) -> None:
    await registry.create_org("acme", 300)
    end = int(time.time()) + 60
    key = await create_key(registry, tier="company", org="acme", limits={"embeddings": 500}, expires_at=end)
    found = await _caller(registry, key)
    assert (found.tier, found.org, found.org_limit, found.limits) == ("company", "acme", 300, {"embeddings": 500})
    assert found.expires_at == end


async def test_a_key_may_have_a_name_of_128_characters(registry: Registry) -> None:
    assert (await _caller(registry, await create_key(registry, name="x" * 128))).name == "x" * 128
    with pytest.raises(RegistryError, match="1 to 128 printable"):
        await create_key(registry, name="x" * 129)


async def test_the_key_itself_is_not_in_the_database(registry: Registry, engine: AsyncEngine) -> None:
    key = await create_key(registry)
    async with engine.connect() as connection:
        rows = [*(await connection.execute(select(KEYS))), *(await connection.execute(select(SECRETS)))]
    assert key not in str(rows)


async def test_an_expired_key_is_not_found(registry: Registry) -> None:
    assert not await _is_found(registry, await create_key(registry, expires_at=int(time.time()) - 1))


async def test_a_rotated_key_has_two_secrets_and_one_id(registry: Registry) -> None:
    old = await create_key(registry)
    new = await registry.rotate(api_key.prefix(old), 60)
    first, second = await _caller(registry, old), await _caller(registry, new)
    assert first.id == second.id
    assert second.expires_at is None
    assert first.expires_at is not None


@pytest.mark.parametrize(
    ("lifetime", "overlaps", "left"), [(None, [0], 0), (None, [10, 1000], 10), (None, [1000, 0], 0), (1000, [60], 60)]
)
async def test_an_old_secret_ends_with_the_shortest_overlap(
    registry: Registry, lifetime: int | None, overlaps: list[int], left: int
) -> None:
    key = old = await create_key(registry, expires_at=lifetime and int(time.time()) + lifetime)
    for overlap in overlaps:
        key = await registry.rotate(api_key.prefix(key), overlap)
    found = await registry.find([api_key.digest(old)])
    assert [(caller.expires_at or 0) <= time.time() + left for caller in found.values()] == [True] * (left > 0)


async def test_revoking_ends_every_secret_of_a_key(registry: Registry) -> None:
    old = await create_key(registry)
    new = await registry.rotate(api_key.prefix(old), 60)
    await registry.revoke(api_key.prefix(old))
    assert not await _is_found(registry, new)


async def test_a_change_keeps_what_it_does_not_name(registry: Registry) -> None:
    key = await create_key(registry, tier="pro", limits={"embeddings": 5, "rerank": 6})
    await registry.change(api_key.prefix(key), {"name": "other"}, {"embeddings": None, "speech": 7})
    found = await _caller(registry, key)
    assert (found.name, found.tier, found.limits) == ("other", "pro", {"rerank": 6, "speech": 7})


async def test_every_secret_is_listed(registry: Registry) -> None:
    old = await create_key(registry, name="search")
    new = await registry.rotate(api_key.prefix(old), 60)
    entries = await registry.entries()
    assert {entry.prefix for entry in entries} == {api_key.prefix(old), api_key.prefix(new)}
    assert {entry.name for entry in entries} == {"search"}


async def test_organisations_are_listed_with_their_keys(registry: Registry) -> None:
    await registry.create_org("acme", None)
    await create_key(registry, org="acme")
    await registry.change_org("acme", 50)
    assert await registry.orgs() == [("acme", 50, 1)]


async def test_changes_of_unknown_keys_and_organisations_are_refused(registry: Registry) -> None:
    for refused in (
        registry.rotate("qk_nothing", 0),
        registry.revoke("qk_nothing"),
        registry.change("qk_nothing", {}, {}),
        registry.change_org("nobody", 1),
        create_key(registry, org="nobody"),
    ):
        with pytest.raises(RegistryError):
            await refused


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "a\0b", "a\nb", "\x1b", " acme", "acme ", "\u2028", "\u202ea", "a" * 65]
)
async def test_an_invalid_organisation_name_is_refused(registry: Registry, name: str) -> None:
    with pytest.raises(RegistryError, match="printable"):
        await registry.create_org(name, None)


async def test_an_organisation_with_an_empty_name_counts_as_none(registry: Registry, engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(insert(ORGS).values(name="", created_at=0))
    found = await _caller(registry, await create_key(registry, org=""))
    assert found.org is None


async def test_an_organisation_exists_once(registry: Registry) -> None:
    await registry.create_org("acme", None)
    with pytest.raises(RegistryError, match="already"):
        await registry.create_org("acme", None)
