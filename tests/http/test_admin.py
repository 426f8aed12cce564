"""The administration over HTTP, and that it is not there unless it was set up."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from frontend.config.settings import Settings
from tests.conftest import KEY, Client, running
from tests.fakes import FakeTriton

ADMIN_KEY = "a" * 32
_SAYS = {"input": "Hello there.", "voice": "amy"}


@pytest.fixture
async def admin(settings: Settings, triton: FakeTriton) -> AsyncIterator[Client]:
    """The application with an admin key, which every request carries."""
    own = dataclasses.replace(settings, admin_key=ADMIN_KEY)
    async with running(own, triton, ADMIN_KEY) as connected:
        yield connected


async def _ask(client: Client, method: str, path: str, status: int = 200, **body: Any) -> Any:
    sent = body if method in ("POST", "PATCH") else None
    async with client.request(method, f"/admin/v1{path}", json=sent) as response:
        assert response.status == status, await response.text()
        return await response.json()


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
    made, other = [await _ask(admin, "POST", "/keys", name=name) for name in ("search", "other")]
    rotated = await _ask(admin, "POST", f"/keys/{made['prefix']}/rotate", overlap=0)
    assert [await _models(admin, key) for key in (made["key"], rotated["key"])] == [401, 200]
    await _ask(admin, "DELETE", f"/keys/{other['prefix']}")
    assert await _models(admin, other["key"]) == 401


async def test_keys_are_listed_without_their_secrets(admin: Client) -> None:
    made = await _ask(admin, "POST", "/keys", name="search", tier="pro", limits={"embeddings": 5})
    (found,) = [key for key in (await _ask(admin, "GET", "/keys"))["data"] if key["prefix"] == made["prefix"]]
    assert (found["name"], found["tier"], found["limits"]) == ("search", "pro", {"embeddings": 5})
    assert made["key"] not in str(found)


async def test_a_key_is_changed_where_something_is_named(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    made = await _ask(admin, "POST", "/keys", name="search", org="acme", limits={"embeddings": 5, "speech": 6})
    await _ask(admin, "PATCH", f"/keys/{made['prefix']}", tier="company", org="", limits={"embeddings": None})
    (found,) = [key for key in (await _ask(admin, "GET", "/keys"))["data"] if key["prefix"] == made["prefix"]]
    assert (found["name"], found["tier"], found["org"], found["limits"]) == ("search", "company", None, {"speech": 6})


async def test_an_organisation_is_topped_up_once_for_a_reference(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    await _ask(admin, "POST", "/orgs", 400, name="acme")
    for _ in range(2):
        await _ask(admin, "POST", "/orgs/acme/topups", amount="25.50", reference="invoice 7")
    assert (await _ask(admin, "GET", "/orgs"))["data"] == [
        {"name": "acme", "requests_per_minute": 50, "keys": 0, "balance": "25.50"}
    ]


async def test_an_organisations_limit_can_be_taken_away(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme", requests_per_minute=50)
    assert await _ask(admin, "PATCH", "/orgs/acme") == {"name": "acme", "requests_per_minute": None}


async def test_the_parameter_that_does_not_fit_what_is_stored_is_named(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    await _ask(admin, "POST", "/orgs/acme/topups", amount="1", reference="invoice 7")
    wrong: list[tuple[str, int, dict[str, str], str]] = [
        ("/orgs", 400, {"name": "acme"}, "name"),
        ("/keys", 404, {"org": "nobody"}, "org"),
        ("/orgs/acme/topups", 400, {"amount": "0"}, "amount"),
        ("/orgs/acme/topups", 400, {"amount": "2", "reference": "invoice 7"}, "reference"),
    ]
    for path, status, body, param in wrong:
        assert (await _ask(admin, "POST", path, status, **body))["error"]["param"] == param


async def test_lists_come_in_parts_that_tell_whether_there_are_more(admin: Client) -> None:
    for name in ("acme", "beta", "gamma"):
        await _ask(admin, "POST", "/orgs", name=name)
        await _ask(admin, "POST", "/keys", name=name, org=name)
        await _ask(admin, "POST", "/orgs/acme/topups", amount="1", reference=name)
    kinds = {"/orgs": "name", "/keys": "prefix", "/orgs/acme/topups": "reference", "/audit": "id"}
    for path, name in kinds.items():
        whole = (await _ask(admin, "GET", path))["data"]
        first = await _ask(admin, "GET", f"{path}?limit=2")
        rest = await _ask(admin, "GET", f"{path}?after={first['data'][-1][name]}")
        assert (first["data"] + rest["data"], first["has_more"], rest["has_more"]) == (whole, True, False), path
        turned = await _ask(admin, "GET", f"{path}?order={'desc' if path in ('/orgs', '/keys') else 'asc'}")
        assert turned["data"] == whole[::-1], path


async def test_keys_are_searched_and_those_that_have_ended_are_left_out(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    made = [await _ask(admin, "POST", "/keys", name=name, org="acme") for name in ("search", "research", "speech")]
    await _ask(admin, "DELETE", f"/keys/{made[1]['prefix']}")
    for query, found in (("search=SEARCH", [0, 1]), ("search=search&state=active", [0]), ("org=acme", [0, 1, 2])):
        listed = (await _ask(admin, "GET", f"/keys?{query}"))["data"]
        assert {each["prefix"] for each in listed} == {made[place]["prefix"] for place in found}, query


async def test_every_change_is_in_the_log_as_that_of_the_admin_key(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    await _ask(admin, "PATCH", "/orgs/acme", requests_per_minute=5)
    made = await _ask(admin, "POST", "/keys", name="search", org="acme")
    await _ask(admin, "PATCH", f"/keys/{made['prefix']}", tier="pro")
    await _ask(admin, "POST", f"/keys/{made['prefix']}/rotate")
    await _ask(admin, "DELETE", f"/keys/{made['prefix']}")
    for _ in range(2):
        await _ask(admin, "POST", "/orgs/acme/topups", amount="1", reference="once")
    await _ask(admin, "GET", f"/usage?key={made['prefix']}")
    log = (await _ask(admin, "GET", "/audit?actor=admin+key"))["data"]
    wanted = ["wallet.top_up", "key.revoke", "key.rotate", "key.change", "key.create", "org.change", "org.create"]
    assert [change["action"] for change in log] == wanted
    assert {change["origin"] for change in log} == {"127.0.0.1"}
    assert (log[0]["target"], log[0]["details"]) == ("acme", {"amount": "1.00", "reference": "once"})
    assert made["key"] not in str(log)
    found = await _ask(admin, "GET", f"/audit?target={made['prefix']}&limit=1&since=2026-01-01")
    assert (found["data"], found["has_more"]) == ([log[1]], True)


async def test_the_settings_of_keys_are_told(settings: Settings, triton: FakeTriton) -> None:
    floors = {"whisper_turbo": {"org:acme": 2}}
    own = dataclasses.replace(settings, admin_key=ADMIN_KEY, floors=floors, tiers={"pro": {"speech": 7}})
    async with running(own, triton, ADMIN_KEY) as client:
        told = await _ask(client, "GET", "/settings")
    assert (told["floors"], told["limits_of_tiers"]) == (floors, {"pro": {"speech": 7}})
    assert (told["tiers"], told["usual_tier"]) == (["bulk", "free", "pro", "company"], "free")
    assert told["limits"] == settings.limits


@pytest.mark.parametrize("path", ["/orgs", "/keys", "/orgs/acme/topups"])
async def test_a_form_of_a_foreign_page_changes_nothing(admin: Client, path: str) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    before = await _ask(admin, "GET", "/audit")
    foreign = {"Authorization": "", "Origin": "https://evil.example", "Content-Type": "text/plain"}
    body = b'{"name": "evil", "amount": "1", "reference": "="}'
    async with admin.post(f"/admin/v1{path}", data=body, headers=foreign) as response:
        assert response.status == 401
        assert "Access-Control-Allow-Origin" not in response.headers
    assert await _ask(admin, "GET", "/audit") == before


async def test_leases_are_listed_and_can_be_released(admin: Client) -> None:
    assert await _ask(admin, "GET", "/leases?holder=lost") == {"object": "list", "data": [], "has_more": False}
    assert await _ask(admin, "DELETE", "/leases/lost") == {"holder": "lost", "released": True}


_REFUSED: list[tuple[str, str, dict[str, Any], int]] = [
    ("POST", "/keys", {"tier": "gold"}, 400),
    ("POST", "/keys", {"limits": {"embeddings": 0}}, 400),
    ("POST", "/keys", {"limits": 5}, 400),
    ("POST", "/keys", {"org": "nobody"}, 404),
    ("POST", "/keys", {"admin": True}, 400),
    ("POST", "/keys", {"name": "x" * 129}, 400),
    ("POST", "/keys", {"expires_in": -1}, 400),
    ("POST", "/keys", {"expires_in": 10**30}, 400),
    ("POST", "/keys", {"expires_in": 10**10}, 400),
    ("POST", "/keys", {"limits": {"embeddings": 10**30}}, 400),
    ("POST", "/keys", {"name": "a\0b"}, 400),
    ("POST", "/keys", {"name": "a\nb"}, 400),
    ("PATCH", "/keys/nobody", {"expires_in": 10**30}, 400),
    ("PATCH", "/keys/%00", {}, 404),
    ("DELETE", "/keys/%00", {}, 404),
    ("PATCH", "/keys/nobody", {}, 404),
    ("DELETE", "/keys/nobody", {}, 404),
    ("POST", "/keys/nobody/rotate", {}, 404),
    ("POST", "/keys/nobody/rotate", {"overlap": -1}, 400),
    ("POST", "/keys/nobody/rotate", {"overlap": 10**30}, 400),
    ("POST", "/keys/%00/rotate", {}, 404),
    ("POST", "/orgs", {}, 400),
    ("POST", "/orgs", {"name": "a\0b"}, 400),
    ("POST", "/orgs", {"name": "a/b"}, 400),
    ("POST", "/orgs", {"name": "acme", "requests_per_minute": 2**31}, 400),
    ("PATCH", "/orgs/nobody", {"requests_per_minute": 10**30}, 400),
    ("PATCH", "/orgs/%00", {}, 404),
    ("DELETE", "/leases/%00", {}, 404),
    ("POST", "/orgs/%00/topups", {"amount": "1"}, 404),
    ("POST", "/orgs/nobody/topups", {"amount": "1", "reference": "a\0"}, 400),
    ("PATCH", "/orgs/nobody", {}, 404),
    ("POST", "/orgs/nobody/topups", {"amount": "1"}, 404),
    ("POST", "/orgs/nobody/topups", {"amount": 1}, 400),
    ("POST", "/orgs/nobody/topups", {"amount": "-1"}, 400),
    ("GET", "/usage?by=hour", {}, 400),
    ("GET", "/usage?first=yesterday", {}, 400),
    ("GET", "/usage?format=xml", {}, 400),
    ("GET", "/usage?key=nobody", {}, 404),
    ("GET", "/usage?key=%00", {}, 404),
    ("GET", "/usage?org=%00", {}, 400),
    ("GET", "/usage?day=1", {}, 400),
    ("GET", "/usage?by=day&by=key", {}, 400),
    ("GET", "/nothing", {}, 404),
    *(("GET", f"/{path}?limit={limit}", {}, 400) for path in ("keys", "orgs", "audit") for limit in ("0", "501", "x")),
    ("GET", "/keys?order=up", {}, 400),
    ("GET", "/keys?state=dead", {}, 400),
    ("GET", "/keys?search=%00", {}, 400),
    ("GET", "/keys?after=qk_nothing", {}, 404),
    ("GET", "/keys?since=2026-11-20", {}, 400),
    ("GET", "/orgs?after=nobody", {}, 404),
    ("GET", "/orgs/nobody/topups", {}, 404),
    ("GET", "/orgs/%00/topups", {}, 404),
    ("GET", "/audit?since=yesterday", {}, 400),
    ("GET", "/audit?after=999", {}, 404),
    ("GET", "/audit?after=one", {}, 400),
    ("GET", "/audit?target=%00", {}, 400),
    ("GET", "/settings?limit=1", {}, 400),
]


async def test_what_does_not_fit_is_refused(admin: Client) -> None:
    for method, path, body, status in _REFUSED:
        async with admin.request(method, f"/admin/v1{path}", json=body) as response:
            error = (await response.json())["error"]
        assert (response.status, error["type"]) == (status, "invalid_request_error"), (method, path, body)


async def test_a_whole_key_names_itself_and_is_not_repeated(admin: Client) -> None:
    made = await _ask(admin, "POST", "/keys")
    changed = await _ask(admin, "PATCH", f"/keys/{made['key']}", name="search")
    revoked = await _ask(admin, "DELETE", f"/keys/{made['key']}")
    assert (changed["prefix"], revoked["prefix"]) == (made["prefix"], made["prefix"])
    assert await _models(admin, made["key"]) == 401
    assert made["key"] not in str(await _ask(admin, "DELETE", f"/keys/{made['key']}", 404))


async def test_a_whole_key_in_a_path_is_not_logged(admin: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "quartet")
    made = await _ask(admin, "POST", "/keys")
    await _ask(admin, "DELETE", f"/keys/{made['key']}")
    paths = [record.fields["route"] for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]
    assert paths == ["/admin/v1/keys", "/admin/v1/keys/{prefix}"]


async def test_usage_is_everybodys_or_an_organisations_or_a_keys(admin: Client) -> None:
    await _ask(admin, "POST", "/orgs", name="acme")
    made = await _ask(admin, "POST", "/keys", name="search", org="acme")
    for key in (KEY, made["key"]):
        headers = {"Authorization": f"Bearer {key}"}
        async with admin.post("/v1/audio/speech", json=_SAYS, headers=headers) as response:
            await response.read()
    # What was said is in the database within a second.
    paths = ["/usage?by=", "/usage?by=&org=acme", f"/usage?by=&key={made['prefix']}"]
    found = [0]
    async with asyncio.timeout(5):
        while found != [2, 1, 1]:
            rows = [(await _ask(admin, "GET", path))["data"] for path in paths]
            found = [each[0]["requests"] if each else 0 for each in rows]


async def test_usage_comes_as_a_file_too(admin: Client) -> None:
    async with admin.get("/admin/v1/usage?by=day,key&format=csv") as response:
        assert response.content_type == "text/csv"
        assert await response.text() == "day,key,key_id,key_prefix,requests,audio_seconds,characters,tokens,amount\r\n"
