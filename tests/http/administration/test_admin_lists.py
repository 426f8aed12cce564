"""What the administration lists, part by part, and what it refuses."""

from typing import Any

import pytest

from tests.conftest import Client
from tests.http.calls import ask


async def test_a_parameter_that_conflicts_with_the_database_is_named(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    await ask(admin, "POST", "/orgs/acme/topups", amount="1", reference="invoice 7")
    wrong: list[tuple[str, int, dict[str, str], str]] = [
        ("/orgs", 400, {"name": "acme"}, "name"),
        ("/keys", 404, {"org": "nobody"}, "org"),
        ("/orgs/acme/topups", 400, {"amount": "0"}, "amount"),
        ("/orgs/acme/topups", 400, {"amount": "2", "reference": "invoice 7"}, "reference"),
    ]
    for path, status, body, param in wrong:
        assert (await ask(admin, "POST", path, status, **body))["error"]["param"] == param


async def test_lists_come_in_pages_and_say_whether_there_are_more(admin: Client) -> None:
    for name in ("acme", "beta", "gamma"):
        await ask(admin, "POST", "/orgs", name=name)
        await ask(admin, "POST", "/keys", name=name, org=name)
        await ask(admin, "POST", "/orgs/acme/topups", amount="1", reference=name)
    kinds = {"/orgs": "name", "/keys": "prefix", "/orgs/acme/topups": "reference", "/audit": "id"}
    for path, name in kinds.items():
        whole = (await ask(admin, "GET", path))["data"]
        first = await ask(admin, "GET", f"{path}?limit=2")
        rest = await ask(admin, "GET", f"{path}?after={first['data'][-1][name]}")
        assert (first["data"] + rest["data"], first["has_more"], rest["has_more"]) == (whole, True, False), path
        assert not (await ask(admin, "GET", f"{path}?limit={len(whole)}"))["has_more"], path
        turned = await ask(admin, "GET", f"{path}?order={'desc' if path in ('/orgs', '/keys') else 'asc'}")
        assert turned["data"] == whole[::-1], path


async def test_keys_are_searched_and_those_that_have_ended_are_left_out(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    made = [await ask(admin, "POST", "/keys", name=name, org="acme") for name in ("search", "research", "speech")]
    await ask(admin, "DELETE", f"/keys/{made[1]['prefix']}")
    for query, found in (("search=SEARCH", [0, 1]), ("search=search&state=active", [0]), ("org=acme", [0, 1, 2])):
        listed = (await ask(admin, "GET", f"/keys?{query}"))["data"]
        assert {each["prefix"] for each in listed} == {made[place]["prefix"] for place in found}, query


async def test_every_change_is_in_the_log_as_that_of_the_admin_key(admin: Client) -> None:
    await ask(admin, "POST", "/orgs", name="acme")
    await ask(admin, "PATCH", "/orgs/acme", requests_per_minute=5)
    made = await ask(admin, "POST", "/keys", name="search", org="acme")
    await ask(admin, "PATCH", f"/keys/{made['prefix']}", tier="pro")
    await ask(admin, "POST", f"/keys/{made['prefix']}/rotate")
    await ask(admin, "DELETE", f"/keys/{made['prefix']}")
    for _ in range(2):
        await ask(admin, "POST", "/orgs/acme/topups", amount="1", reference="once")
    await ask(admin, "GET", f"/usage?key={made['prefix']}")
    log = (await ask(admin, "GET", "/audit?actor=admin+key"))["data"]
    wanted = ["wallet.top_up", "key.revoke", "key.rotate", "key.change", "key.create", "org.change", "org.create"]
    assert [change["action"] for change in log] == wanted
    assert {change["origin"] for change in log} == {"127.0.0.1"}
    assert (log[0]["target"], log[0]["details"]) == ("acme", {"amount": "1.00", "reference": "once"})
    assert made["key"] not in str(log)
    found = await ask(admin, "GET", f"/audit?target={made['prefix']}&limit=1&since=2026-01-01")
    assert (found["data"], found["has_more"]) == ([log[1]], True)


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


async def test_a_bad_request_is_refused(admin: Client) -> None:
    for method, path, body, status in _REFUSED:
        async with admin.request(method, f"/admin/v1{path}", json=body) as response:
            error = (await response.json())["error"]
        assert (response.status, error["type"]) == (status, "invalid_request_error"), (method, path, body)


@pytest.mark.settings(trusted_proxies="127.0.0.0/8")
async def test_the_origin_of_a_change_is_the_caller_of_a_trusted_proxy(admin: Client) -> None:
    headers = {"X-Forwarded-For": "198.51.100.1, 203.0.113.7"}
    assert (await admin.post("/admin/v1/orgs", json={"name": "acme"}, headers=headers)).status == 200
    (change,) = (await ask(admin, "GET", "/audit?action=org.create"))["data"]
    assert change["origin"] == "203.0.113.7"
