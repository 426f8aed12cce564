"""The administration over HTTP, and that it is not there unless it was set up."""

import asyncio
import dataclasses
import logging
from typing import Any

import pytest

from frontend.config.settings import Settings
from tests.conftest import KEY, Client, running
from tests.fakes import FakeTriton
from tests.http.administration import ADMIN_KEY, ask

_SAYS = {"input": "Hello there.", "voice": "amy"}


async def _models(client: Client, key: str) -> int:
    async with client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}) as response:
        return response.status


async def test_without_an_admin_key_there_is_no_such_path(client: Client) -> None:
    async with client.get("/admin/v1/keys") as response:
        assert response.status == 404


@pytest.mark.parametrize("key", [KEY, "a" * 31, "a" * 33, ""], ids=["an API key", "shorter", "longer", "none"])
async def test_another_key_does_not_administer(admin: Client, key: str) -> None:
    async with admin.get("/admin/v1/keys", headers={"Authorization": f"Bearer {key}"}) as response:
        error = (await response.json())["error"]
    assert (response.status, error["type"]) == (401, "invalid_api_key")
    assert error["message"] == "the admin key is missing or invalid"


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
    (found,) = [key for key in (await ask(admin, "GET", "/keys"))["data"] if key["prefix"] == made["prefix"]]
    assert (found["name"], found["tier"], found["limits"]) == ("search", "pro", {"embeddings": 5})
    assert made["key"] not in str(found)


async def test_a_key_is_changed_where_something_is_named(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    made = await ask(admin, "POST", "/keys", name="search", org="acme", limits={"embeddings": 5, "speech": 6})
    await ask(admin, "PATCH", f"/keys/{made['prefix']}", tier="company", org="", limits={"embeddings": None})
    (found,) = [key for key in (await ask(admin, "GET", "/keys"))["data"] if key["prefix"] == made["prefix"]]
    assert (found["name"], found["tier"], found["org"], found["limits"]) == ("search", "company", None, {"speech": 6})


async def test_an_organisation_is_topped_up_once_for_a_reference(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    await ask(admin, "POST", "/orgs", 400, name="acme")
    for _ in range(2):
        await ask(admin, "POST", "/orgs/acme/topups", amount="25.50", reference="invoice 7")
    assert (await ask(admin, "GET", "/orgs"))["data"] == [
        {"name": "acme", "requests_per_minute": 50, "keys": 0, "balance": "25.50"}
    ]


async def test_an_organisations_limit_can_be_taken_away(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    assert await ask(admin, "PATCH", "/orgs/acme") == {"name": "acme", "requests_per_minute": None}


async def test_the_settings_of_keys_are_told(settings: Settings, triton: FakeTriton) -> None:
    floors = {"whisper_turbo": {"org:acme": 2}}
    own = dataclasses.replace(settings, admin_key=ADMIN_KEY, floors=floors, tiers={"pro": {"speech": 7}})
    async with running(own, triton, ADMIN_KEY) as client:
        told = await ask(client, "GET", "/settings")
    assert (told["floors"], told["limits_of_tiers"]) == (floors, {"pro": {"speech": 7}})
    assert (told["tiers"], told["usual_tier"]) == (["bulk", "free", "pro", "company"], "free")
    assert told["limits"] == settings.limits


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
    paths = [record.fields["route"] for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]
    assert paths == ["/admin/v1/keys", "/admin/v1/keys/{prefix}"]


async def test_usage_is_everybodys_or_an_organisations_or_a_keys(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    made = await ask(admin, "POST", "/keys", name="search", org="acme")
    for key in (KEY, made["key"]):
        headers = {"Authorization": f"Bearer {key}"}
        async with admin.post("/v1/audio/speech", json=_SAYS, headers=headers) as response:
            await response.read()
    # What was said is in the database within a second.
    paths = ["/usage?by=", "/usage?by=&org=acme", f"/usage?by=&key={made['prefix']}"]
    found = [0]
    async with asyncio.timeout(5):
        while found != [2, 1, 1]:
            rows = [(await ask(admin, "GET", path))["data"] for path in paths]
            found = [each[0]["requests"] if each else 0 for each in rows]


async def test_usage_comes_as_a_file_too(admin: Client) -> None:
    async with admin.get("/admin/v1/usage?by=day,key&format=csv") as response:
        assert response.content_type == "text/csv"
        assert await response.text() == "day,key,key_id,key_prefix,requests,audio_seconds,characters,tokens,amount\r\n"


async def test_the_end_of_a_key_is_taken_away(admin: Client) -> None:
    made = await ask(admin, "POST", "/keys", expires_in=3600)
    changes: list[tuple[dict[str, Any], bool]] = [({"name": "search"}, True), ({"expires_in": ""}, False)]
    for body, expires in changes:
        await ask(admin, "PATCH", f"/keys/{made['prefix']}", **body)
        (row,) = (await ask(admin, "GET", f"/keys?search={made['prefix']}"))["data"]
        assert (row["expires_at"] is not None) is expires
