"""What anybody may ask for costs little: it is made once, and strangers take turns."""

import gc
from types import TracebackType

import pytest
from aiohttp import hdrs

from frontend.app_keys import PATHS
from frontend.concurrency.turnstile import Turnstile
from frontend.pages import offer, openapi, static_files
from tests.conftest import Client, bearer
from tests.http.calls import APART, EMBED

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"admin_key": "a" * 32}
# These change while the process runs.
CHANGES = ("/health/live", "/health/ready", "/metrics")
FILES = ("/shared/style.css", "/shared/icon.svg", "/docs/reference.js", "/dashboard/uPlot.iife.min.js")
NO_KEY: dict[str, str] = {hdrs.AUTHORIZATION: ""}


def _open_paths(client: Client) -> set[str]:
    paths = {resource.canonical for resource in client.app.router.resources()}
    return {path for path in paths if "{" not in path and client.app[PATHS].auth_of(path) is None} - {*CHANGES}


async def test_an_open_path_has_an_etag_by_which_it_is_not_sent_again(client: Client) -> None:
    paths = _open_paths(client)
    pages = {"/", "/docs", "/docs/reference", "/keys", "/dashboard"}
    assert pages | {"/openapi.json", "/offer.json", "/favicon.ico"} <= paths
    for path in [*paths, *FILES]:
        async with client.get(path, headers=NO_KEY) as first:
            body, etag = await first.read(), first.headers[hdrs.ETAG]
        assert first.headers[hdrs.CACHE_CONTROL] == "no-cache", path
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            headers: dict[str, str] = {**NO_KEY, hdrs.IF_NONE_MATCH: known}
            async with client.get(path, headers=headers) as again:
                assert (again.status, await again.read(), again.headers[hdrs.ETAG]) == (304, b"", etag), path
                assert hdrs.CONTENT_TYPE not in again.headers
        for known in ('"other"', ""):
            async with client.get(path, headers={**NO_KEY, hdrs.IF_NONE_MATCH: known}) as again:
                assert (again.status, await again.read()) == (200, body), path
        async with client.head(path, headers=NO_KEY) as headed:
            assert (headed.status, headed.headers[hdrs.ETAG], headed.content_length) == (200, etag, len(body))


async def test_a_page_that_is_missing_is_always_sent(client: Client) -> None:
    headers: dict[str, str] = {**NO_KEY, "Accept": "text/html", hdrs.IF_NONE_MATCH: "*"}
    async with client.get("/nothing", headers=headers) as response:
        assert response.status == 404
        assert "text/html" in response.headers[hdrs.CONTENT_TYPE]
        assert hdrs.ETAG not in response.headers


async def test_each_answer_is_made_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = _open_paths(client)
    for path in paths:
        await client.get(path, headers=NO_KEY)

    def refuse(*_: object) -> object:
        raise AssertionError("made again")

    for module, name in ((openapi, "document"), (offer, "_offer"), (static_files, "is_answered")):
        monkeypatch.setattr(module, name, refuse)
    for path in paths:
        assert (await client.get(path, headers=NO_KEY)).status == 200


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[Turnstile]:
    taken: list[Turnstile] = []

    async def turn(self: Turnstile) -> None:
        taken.append(self)

    monkeypatch.setattr(Turnstile, "turn", turn)
    return taken


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/health/live", ""),
        ("GET", "/openapi.json", ""),
        ("GET", "/shared/style.css", ""),
        ("GET", "/nothing", ""),
        ("GET", "/v1/nothing", ""),
        ("DELETE", "/docs", ""),
        ("GET", "/v1/models", "wrong"),
        ("POST", EMBED, ""),
        ("GET", "/admin/v1/keys", "wrong"),
    ],
)
async def test_strangers_take_turns(client: Client, turns: list[Turnstile], method: str, path: str, key: str) -> None:
    await client.request(method, path, headers=bearer(key))
    assert len(turns) == 1


async def test_a_known_key_waits_for_no_stranger(client: Client, turns: list[Turnstile]) -> None:
    assert (await client.post(EMBED, json={"input": "a"})).status == 200
    assert (await client.post(EMBED, json={"input": 1})).status == 400
    assert turns == []


@APART
@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("POST", "/docs"), ("POST", EMBED)])
async def test_a_refusal_leaves_no_frames_to_garbage_collection(client: Client, method: str, path: str) -> None:
    async def ask() -> None:
        async with client.request(method, path, headers={"Accept": "text/html"}, json={}) as response:
            assert response.status >= 400
            await response.read()

    await ask()
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            await ask()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert [each for each in gc.garbage if isinstance(each, TracebackType)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
