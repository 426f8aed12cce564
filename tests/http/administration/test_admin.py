"""The administration over HTTP, and that it is not there unless it was set up."""

import asyncio
import logging
from typing import Any

import pytest

from frontend.config.settings import Settings
from tests.conftest import KEY, Client, bearer
from tests.http.calls import ADMIN_KEY, ask, database_away, logged, status_of

_SAYS = {"input": "Hello there.", "voice": "amy"}


async def _models(client: Client, key: str) -> int:
    return await status_of(client, "/v1/models", key)


async def _listed(admin: Client, key: dict[str, Any]) -> dict[str, Any]:
    """A key as it is listed."""
    (found,) = (await ask(admin, "GET", f"/keys?search={key['prefix']}"))["data"]
    return dict(found)


async def test_without_an_admin_key_there_is_no_such_path(client: Client) -> None:
    assert await status_of(client, "/admin/v1/keys", KEY) == 404


@pytest.mark.parametrize("key", [KEY, "a" * 31, "a" * 33, ""], ids=["an API key", "shorter", "longer", "none"])
async def test_another_key_does_not_administer(admin: Client, key: str) -> None:
    async with admin.get("/admin/v1/keys", headers=bearer(key)) as response:
        error = (await response.json())["error"]
    assert (response.status, error["type"]) == (401, "invalid_api_key")
    assert error["message"] == "the admin key is missing or invalid"


@pytest.mark.parametrize("path", ["keys", "orgs", "orgs/acme/topups", "audit", "usage", "usage?by=key"])
async def test_while_the_database_is_away_administration_is_502(admin: Client, settings: Settings, path: str) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    with database_away(settings):
        await ask(admin, "GET", f"/{path}", 502)
        for method, changed in (("POST", "keys"), ("POST", "orgs"), ("PATCH", "orgs/acme"), ("DELETE", "keys/qk_a")):
            values = {"name": "zenith"} if method == "POST" else {}
            await ask(admin, method, f"/{changed}", 502, **values)
    await ask(admin, "GET", f"/{path}")


async def test_the_admin_key_does_nothing_else(admin: Client) -> None:
    assert await _models(admin, ADMIN_KEY) == 401


async def test_a_key_works_until_it_is_rotated_or_revoked(admin: Client) -> None:
    made, other = [await ask(admin, "POST", "/keys", name=name) for name in ("search", "other")]
    rotated = await ask(admin, "POST", f"/keys/{made['prefix']}/rotate", overlap=0)
    assert [await _models(admin, key) for key in (made["key"], rotated["key"])] == [401, 200]
    await ask(admin, "DELETE", f"/keys/{other['prefix']}")
    assert await _models(admin, other["key"]) == 401


async def test_keys_are_listed_without_their_secrets(admin: Client) -> None:
    made = await ask(admin, "POST", "/keys", name="search", tier="pro", limits={"embeddings": 5})
    found = await _listed(admin, made)
    assert (found["name"], found["tier"], found["limits"]) == ("search", "pro", {"embeddings": 5})
    assert made["key"] not in str(found)


async def test_a_change_of_a_key_keeps_what_it_does_not_name(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    made = await ask(admin, "POST", "/keys", name="search", org="acme", limits={"embeddings": 5, "speech": 6})
    await ask(admin, "PATCH", f"/keys/{made['prefix']}", tier="company", org="", limits={"embeddings": None})
    found = await _listed(admin, made)
    assert (found["name"], found["tier"], found["org"], found["limits"]) == ("search", "company", None, {"speech": 6})


async def test_an_organisation_is_topped_up_once_for_a_reference(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    await ask(admin, "POST", "/orgs", 400, name="acme")
    for _ in range(2):
        await ask(admin, "POST", "/orgs/acme/topups", amount="25.50", reference="invoice 7")
    assert (await ask(admin, "GET", "/orgs"))["data"] == [
        {"name": "acme", "requests_per_minute": 50, "keys": 0, "balance": "25.50"}
    ]


async def test_the_limit_of_an_organisation_can_be_removed(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    assert await ask(admin, "PATCH", "/orgs/acme") == {"name": "acme", "requests_per_minute": None}


@pytest.mark.settings(floors={"whisper_turbo": {"org:acme": 2}}, tiers={"pro": {"speech": 7}})
async def test_the_settings_of_keys_are_answered(admin: Client, settings: Settings) -> None:
    answer = await ask(admin, "GET", "/settings")
    assert (answer["floors"], answer["limits_of_tiers"]) == (settings.floors, settings.tiers)
    assert (answer["tiers"], answer["usual_tier"]) == (["bulk", "free", "pro", "company"], "free")
    assert answer["limits"] == settings.limits


@pytest.mark.parametrize("path", ["/orgs", "/keys", "/orgs/acme/topups"])
async def test_a_form_of_a_foreign_page_changes_nothing(admin: Client, path: str) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    before = await ask(admin, "GET", "/audit")
    foreign = {"Authorization": "", "Origin": "https://evil.example", "Content-Type": "text/plain"}
    body = b'{"name": "evil", "amount": "1", "reference": "="}'
    async with admin.post(f"/admin/v1{path}", data=body, headers=foreign) as response:
        assert response.status == 401
        assert "Access-Control-Allow-Origin" not in response.headers
    assert await ask(admin, "GET", "/audit") == before


async def test_a_whole_key_names_itself_and_is_not_repeated(admin: Client) -> None:
    made = await ask(admin, "POST", "/keys")
    changed = await ask(admin, "PATCH", f"/keys/{made['key']}", name="search")
    revoked = await ask(admin, "DELETE", f"/keys/{made['key']}")
    assert (changed["prefix"], revoked["prefix"]) == (made["prefix"], made["prefix"])
    assert await _models(admin, made["key"]) == 401
    assert made["key"] not in str(await ask(admin, "DELETE", f"/keys/{made['key']}", 404))


async def test_a_whole_key_in_a_path_is_not_logged(admin: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "quartet")
    made = await ask(admin, "POST", "/keys")
    await ask(admin, "DELETE", f"/keys/{made['key']}")
    assert [line["route"] for line in logged(caplog)] == ["/admin/v1/keys", "/admin/v1/keys/{prefix}"]


async def test_usage_is_that_of_everybody_of_an_organisation_or_of_a_key(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    made = await ask(admin, "POST", "/keys", name="search", org="acme")
    for key in (KEY, made["key"]):
        await (await admin.post("/v1/audio/speech", json=_SAYS, headers=bearer(key))).read()
    # What was said is in the database within a second.
    paths = ["/usage?by=", "/usage?by=&org=acme", f"/usage?by=&key={made['prefix']}"]
    found = [0]
    async with asyncio.timeout(5):
        while found != [2, 1, 1]:
            rows = [(await ask(admin, "GET", path))["data"] for path in paths]
            found = [each[0]["requests"] if each else 0 for each in rows]


async def test_usage_comes_as_csv_too(admin: Client) -> None:
    async with admin.get("/admin/v1/usage?by=day,key&format=csv") as response:
        assert response.content_type == "text/csv"
        assert await response.text() == "day,key,key_id,key_prefix,requests,audio_seconds,characters,tokens,amount\r\n"


async def test_the_expiry_of_a_key_can_be_removed(admin: Client) -> None:
    made = await ask(admin, "POST", "/keys", expires_in=3600)
    await ask(admin, "PATCH", f"/keys/{made['prefix']}", name="search")
    assert (await _listed(admin, made))["expires_at"] is not None
    await ask(admin, "PATCH", f"/keys/{made['prefix']}", expires_in="")
    assert (await _listed(admin, made))["expires_at"] is None
