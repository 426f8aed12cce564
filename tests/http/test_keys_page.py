"""The page of keys is where the administration is, and its link with it."""

import dataclasses
import re

import pytest

from frontend.config.settings import Settings
from tests.conftest import Client, running
from tests.fakes import FakeTriton
from tests.http.test_home import MOST_BYTES, PAGES, _links, _parts, _text

ADMIN_KEY = "a" * 32


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return dataclasses.replace(settings, admin_key=getattr(request, "param", ADMIN_KEY))


@pytest.mark.parametrize("settings", [""], indirect=True)
async def test_without_an_admin_key_there_is_no_page_and_no_link(client: Client) -> None:
    for path in ("/keys", "/keys/keys.js"):
        assert (await client.get(path)).status == 404
    for path in PAGES:
        assert "/keys" not in await _links(client, path)


async def test_with_an_admin_key_every_page_links_it(client: Client) -> None:
    for path in (*PAGES, "/keys"):
        assert await _links(client, path) >= {"/", "/playground", "/dashboard", "/keys", "/docs"}, path
    here = re.findall(r'<a href="([^"]*)" aria-current="page">', await _text(client, "/keys"))
    assert here == ["/keys"]


async def test_it_is_light_and_needs_nothing_from_elsewhere(client: Client) -> None:
    text = await _text(client, "/keys")
    parts = await _parts(client, text)
    assert {"/shared/style.css", "/keys/session.js", "/keys/form.js"} <= parts.keys()
    assert sum(len(part.encode()) for part in [text, *parts.values()]) < MOST_BYTES
    assert "//" not in text
    for path in ("/keys", *parts):
        async with client.get(path, headers={"Authorization": ""}) as response:
            assert "default-src 'none'; script-src 'self';" in response.headers["Content-Security-Policy"], path
            assert "Set-Cookie" not in response.headers


async def test_only_the_script_of_api_keys_keeps_one_where_it_outlives_the_page(
    settings: Settings, triton: FakeTriton
) -> None:
    async with running(settings, triton) as client:
        parts = await _parts(client, await _text(client, "/keys"))
    kept = re.compile("sessionStorage|localStorage|indexedDB|cookie|history\\.|caches")
    assert {path for path, part in parts.items() if kept.search(part)} == {"/shared/key.js"}
