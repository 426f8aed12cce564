"""Pages of other origins: which may call, what they may send and what they may read."""

from typing import Any

import pytest

from tests.conftest import Client
from tests.http.calls import ADMIN_KEY, APART, EMBED
from tests.raw import ask, head

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE, OTHER_PAGE, STRANGER = "https://app.example.com", "http://localhost:5173", "https://evil.example.com"
SETTINGS = {"cors_origins": f"{PAGE}, {OTHER_PAGE}", "admin_key": ADMIN_KEY}
NO_KEY = {"Authorization": ""}


def _preflight(origin: str, **more: str) -> dict[str, str]:
    return {**NO_KEY, "Origin": origin, "Access-Control-Request-Method": "POST", **more}


def _cors(answer: Any) -> dict[str, str]:
    """The headers of an answer that are for browsers."""
    return {name: value for name, value in answer.headers.items() if name.startswith("Access-Control-")}


@APART
async def test_without_the_setting_no_page_of_another_origin_may_call(client: Client) -> None:
    asked = await client.options(EMBED, headers=_preflight(PAGE))
    called = await client.post(EMBED, json={"input": "a"}, headers={"Origin": PAGE})
    assert (asked.status, called.status) == (405, 200)
    assert (_cors(asked), _cors(called)) == ({}, {})
    assert "Vary" not in called.headers


@pytest.mark.parametrize("path", [EMBED, "/v1/models", "/api/v1/audio/voices", "/v1/nothing"])
@pytest.mark.parametrize("origin", [PAGE, OTHER_PAGE])
async def test_a_preflight_is_answered_without_a_key(client: Client, path: str, origin: str) -> None:
    wanted = "authorization,content-type,x-stainless-os"
    asked = await client.options(path, headers=_preflight(origin, **{"Access-Control-Request-Headers": wanted}))
    assert (asked.status, await asked.read()) == (204, b"")
    assert _cors(asked) == {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": wanted,
        "Access-Control-Max-Age": "600",
    }
    assert asked.headers["Vary"] == "Origin"
    assert "X-Request-Id" in asked.headers


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_an_answer_to_an_allowed_page_names_the_headers_it_may_read(client: Client, method: str) -> None:
    path, body = (EMBED, {"input": "a"}) if method == "POST" else ("/v1/models", None)
    called = await client.request(method, path, json=body, headers={"Origin": PAGE})
    assert called.status == 200
    assert _cors(called) == {
        "Access-Control-Allow-Origin": PAGE,
        "Access-Control-Expose-Headers": "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
        "Retry-After, X-Should-Retry",
    }
    assert called.headers["Vary"] == "Origin"


@pytest.mark.parametrize(("path", "status"), [(EMBED, 401), ("/v1/nothing", 404), ("/api/v1/audio/synthesize", 401)])
async def test_an_allowed_page_can_read_a_refusal(client: Client, path: str, status: int) -> None:
    called = await client.post(path, json={}, headers={"Origin": PAGE, "Authorization": "Bearer wrong"})
    assert (called.status, called.headers["Access-Control-Allow-Origin"]) == (status, PAGE)


async def test_an_allowed_page_can_read_the_refusal_of_a_long_key(client: Client) -> None:
    called = await ask(client.port, head("GET", "/v1/models", f"Origin: {PAGE}", key="k" * 9_000))
    assert (called.status, called.headers["access-control-allow-origin"]) == (401, PAGE)
    assert called.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "data",
    [
        head("BREW", EMBED, f"Origin: {PAGE}"),
        head("GET", "/v1/models", f"Origin: {PAGE}", "X-A: " + "b" * 20_000),
        head("GET", "/v1/models?x=" + "x" * 20_000, f"Origin: {PAGE}"),
        head("POST", EMBED, f"Origin: {PAGE}", "Content-Length: -1"),
        b"nonsense\r\nOrigin: " + PAGE.encode() + b"\r\n\r\n",
    ],
)
async def test_no_page_can_read_the_refusal_of_an_unparsable_request(client: Client, data: bytes) -> None:
    answer = await ask(client.port, data)
    assert (answer.status, "access-control-allow-origin" in answer.headers) == (400, False)


@pytest.mark.parametrize("origin", [STRANGER, "null", PAGE.upper(), f"{PAGE}.evil.example.com", f"{PAGE}:8443"])
async def test_another_page_gets_no_cors_headers(client: Client, origin: str) -> None:
    asked = await client.options(EMBED, headers=_preflight(origin))
    called = await client.get("/v1/models", headers={"Origin": origin})
    assert (asked.status, called.status) == (405, 200)
    assert (_cors(asked), _cors(called)) == ({}, {})
    assert called.headers["Vary"] == "Origin"


async def test_an_answer_without_an_origin_varies_by_origin_too(client: Client) -> None:
    called = await client.get("/v1/models")
    assert (_cors(called), called.headers["Vary"]) == ({}, "Origin")


@pytest.mark.parametrize(
    "path", ["/admin/v1/keys", "/dashboard/data/account", "/dashboard", "/health/live", "/metrics"]
)
async def test_only_paths_of_the_api_are_open_to_pages(client: Client, path: str) -> None:
    asked = await client.options(path, headers=_preflight(PAGE))
    called = await client.get(path, headers={"Origin": PAGE})
    assert asked.status == 405
    assert (_cors(asked), _cors(called)) == ({}, {})


@pytest.mark.parametrize("path", ["/embeddings", "/v2/audio/speech", "/nothing"])
@pytest.mark.parametrize("origin", [PAGE, STRANGER])
async def test_an_allowed_page_reads_that_a_path_is_missing(client: Client, path: str, origin: str) -> None:
    asked = await client.options(path, headers=_preflight(origin))
    called = await client.post(path, json={}, headers={"Origin": origin})
    assert (asked.status, called.status) == (204 if origin == PAGE else 404, 404)
    assert called.headers.get("Access-Control-Allow-Origin") == (PAGE if origin == PAGE else None)
    assert called.headers["Vary"] == "Origin"


@APART
@pytest.mark.settings(cors_origins="*")
async def test_every_page_may_call_where_the_setting_says_so(client: Client) -> None:
    asked = await client.options(EMBED, headers=_preflight(STRANGER))
    called = await client.get("/v1/models", headers={"Origin": STRANGER})
    assert (asked.status, called.status) == (204, 200)
    assert [answer.headers["Access-Control-Allow-Origin"] for answer in (asked, called)] == ["*", "*"]
    assert "Vary" not in called.headers


async def test_options_that_is_no_preflight_is_405(client: Client) -> None:
    assert (await client.options(EMBED, headers={"Origin": PAGE})).status == 405


@pytest.mark.parametrize("names", [b"a\xff", b"<script>", b"x" * 5000])
async def test_malformed_names_of_headers_are_not_repeated(client: Client, names: bytes) -> None:
    head = f"OPTIONS {EMBED} HTTP/1.1\r\nHost: x\r\nOrigin: {PAGE}\r\nAccess-Control-Request-Method: POST\r\n".encode()
    answer = await ask(client.port, head + b"Access-Control-Request-Headers: " + names + b"\r\n\r\n")
    assert (answer.status, answer.headers["access-control-allow-headers"]) == (204, "Authorization, Content-Type")
