"""The pages that a person can look at, the one at /, which leads to all of them, and the administration's of keys."""

import dataclasses
import re

import pytest

from frontend.catalogue.version import VERSION
from frontend.config.settings import Settings
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.http.calls import APART

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = ["/", "/playground", "/dashboard", "/docs"]
PATHS = [*PAGES, "/openapi.json", "/health/ready", "/health/live", "/metrics"]
# Transferred and parsed by a phone on a slow line.
MOST_BYTES = 300_000


async def _text(client: Client, path: str) -> str:
    async with client.get(path, headers={"Authorization": ""}) as response:
        assert response.status == 200, path
        return await response.text()


async def _links(client: Client, path: str) -> set[str]:
    return set(re.findall(r'<a [^>]*href="(/[^"]*)"', await _text(client, path)))


async def test_the_start_page_links_every_page_and_each_is_answered(client: Client) -> None:
    assert await _links(client, "/") == set(PATHS)
    for path in PATHS:
        assert await _text(client, path)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_links_the_others_and_says_which_it_is(client: Client, path: str) -> None:
    assert await _links(client, path) >= {*PAGES}
    assert re.findall(r'<a href="([^"]*)" aria-current="page">', await _text(client, path)) == [path]


@pytest.mark.parametrize("path", [*PAGES, "/docs/reference", "/nothing"])
async def test_a_page_ends_with_the_version_and_no_link_to_a_manual_that_is_not_there(
    client: Client, path: str
) -> None:
    async with client.get(path, headers={"Authorization": "", "Accept": "text/html"}) as response:
        text = await response.text()
    assert re.findall("<footer>.*</footer>", text) == [f"<footer>Quartet {VERSION}</footer>"]


@pytest.mark.parametrize("address", ["https://docs.example.com/quartet", "/manual/"])
@pytest.mark.asyncio(loop_scope="function")
async def test_a_page_links_the_manual_of_this_version(settings: Settings, triton: FakeTriton, address: str) -> None:
    async with running(dataclasses.replace(settings, manual=address), triton) as client:
        for path in PAGES:
            footer = re.findall("<footer>.*</footer>", await _text(client, path))
            link = f'<a href="{address.rstrip("/")}/{VERSION}/index.html">Manual</a>'
            assert footer == [f"<footer>Quartet {VERSION} · {link}</footer>"]


async def _parts(client: Client, text: str) -> dict[str, str]:
    """The files that a page brings with it, and what the scripts among them import."""
    found: dict[str, str] = {}
    waiting = re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css|svg))"', text)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = await _text(client, path)
            imported = re.findall(r'^import .* from "([^"]+)";$', found[path], re.MULTILINE)
            waiting += [re.sub(r"^\.(?=/)", path.rpartition("/")[0], name) for name in imported]
    return found


@pytest.mark.parametrize("path", [*PAGES, "/docs/reference"])
async def test_a_page_needs_no_key_and_nothing_of_another_origin(client: Client, path: str) -> None:
    text = await _text(client, path)
    assert "//" not in text
    for part in [path, *await _parts(client, text)]:
        async with client.get(part, headers={"Authorization": ""}) as response:
            rules = response.headers["Content-Security-Policy"]
            other = [response.headers[name] for name in ("X-Content-Type-Options", "Referrer-Policy")]
        assert ("default-src 'none'" in rules, "script-src 'self';" in rules) == (True, True), part
        assert other == ["nosniff", "no-referrer"], part


@pytest.mark.parametrize("path", [*PAGES, "/docs/reference"])
async def test_the_playground_alone_may_record_and_play(client: Client, path: str) -> None:
    async with client.get(path) as response:
        devices, rules = (response.headers[name] for name in ("Permissions-Policy", "Content-Security-Policy"))
    playground = path == "/playground"
    assert devices == f"camera=(), geolocation=(), microphone=({'self' * playground})"
    assert f"media-src {'blob:' if playground else chr(39) + 'none' + chr(39)};" in rules


@pytest.mark.parametrize("path", [*PAGES, "/docs/reference"])
async def test_a_page_is_light(client: Client, path: str) -> None:
    text = await _text(client, path)
    parts = await _parts(client, text)
    assert "/shared/style.css" in parts
    assert sum(len(part.encode()) for part in [text, *parts.values()]) < MOST_BYTES


@pytest.mark.parametrize("path", ["/home.html", "/shared/header.html", "/shared/%2e%2e%2fhome.html"])
async def test_the_source_of_a_page_is_not_served(client: Client, path: str) -> None:
    async with client.get(path) as response:
        assert response.status == 404


_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/nothing", "The address may be misspelt."), ("/keys", "QUARTET_ADMIN_KEY"), ("/docs/x", "misspelt")],
)
async def test_a_browser_gets_a_page_for_an_unknown_path(client: Client, path: str, reason: str) -> None:
    answer = await client.get(path, headers=_BROWSER)
    assert (answer.status, answer.content_type) == (404, "text/html")
    assert reason in await answer.text()


@pytest.mark.parametrize(
    ("path", "accept"), [("/nothing", "*/*"), ("/v1/nothing", "text/html"), ("/dashboard/data/nothing", "text/html")]
)
async def test_a_program_gets_json_for_an_unknown_path(client: Client, path: str, accept: str) -> None:
    answer = await client.get(path, headers={"Accept": accept})
    assert (answer.status, answer.content_type) == (404, "application/json")


@pytest.mark.parametrize("path", ["/", "/playground", "/dashboard", "/docs", "/nothing"])
async def test_the_first_link_of_a_page_skips_its_header(client: Client, path: str) -> None:
    page = await (await client.get(path, headers=_BROWSER)).text()
    assert page.index('<a class="skip" href="#main">') < page.index("<header") < page.index('<main id="main"')


async def test_without_an_admin_key_there_is_no_page_of_keys_and_no_link(client: Client) -> None:
    for path in ("/keys", "/keys/keys.js"):
        assert (await client.get(path)).status == 404
    for path in PAGES:
        assert "/keys" not in await _links(client, path)


@APART
async def test_with_an_admin_key_every_page_links_the_page_of_keys(admin: Client) -> None:
    for path in (*PAGES, "/keys"):
        assert await _links(admin, path) >= {"/", "/playground", "/dashboard", "/keys", "/docs"}, path
    here = re.findall(r'<a href="([^"]*)" aria-current="page">', await _text(admin, "/keys"))
    assert here == ["/keys"]


@APART
async def test_the_page_of_keys_is_light_and_needs_nothing_of_another_origin(admin: Client) -> None:
    text = await _text(admin, "/keys")
    parts = await _parts(admin, text)
    assert {"/shared/style.css", "/keys/session.js", "/keys/form.js"} <= parts.keys()
    assert sum(len(part.encode()) for part in [text, *parts.values()]) < MOST_BYTES
    assert "//" not in text
    for path in ("/keys", *parts):
        async with admin.get(path, headers={"Authorization": ""}) as response:
            assert "default-src 'none'; script-src 'self';" in response.headers["Content-Security-Policy"], path
            assert "Set-Cookie" not in response.headers


@APART
async def test_only_the_script_of_api_keys_stores_a_key_beyond_the_page(admin: Client) -> None:
    parts = await _parts(admin, await _text(admin, "/keys"))
    kept = re.compile("sessionStorage|localStorage|indexedDB|cookie|history\\.|caches")
    assert {path for path, part in parts.items() if kept.search(part)} == {"/shared/key.js"}
