"""The pages that a person can look at, and the one at /, which leads to all of them."""

import re

import pytest

from tests.conftest import Client

PATHS = ["/docs", "/openapi.json", "/dashboard", "/v1/models", "/health/ready", "/health/live", "/metrics"]


async def _links(client: Client) -> list[str]:
    async with client.get("/", headers={"Authorization": ""}) as response:
        assert response.status == 200
        return re.findall(r'<a href="([^"]*)"', await response.text())


async def test_it_links_what_there_is(client: Client) -> None:
    assert sorted(await _links(client)) == sorted(PATHS)


@pytest.mark.parametrize("path", [*PATHS, "/dashboard/dashboard.css"])
async def test_a_link_leads_somewhere(client: Client, path: str) -> None:
    async with client.get(path) as response:
        assert response.status == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/dashboard"])
async def test_a_page_needs_no_key_and_nothing_from_elsewhere(client: Client, path: str) -> None:
    async with client.get(path, headers={"Authorization": ""}) as response:
        text = await response.text()
    assert "//" not in text.replace("data:,", "")
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    for part in re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css))"', text):
        async with client.get(part, headers={"Authorization": ""}) as response:
            assert (response.status, "'self'" in response.headers["Content-Security-Policy"]) == (200, True), part


async def test_other_paths_are_still_unknown(client: Client) -> None:
    async with client.get("/home.html") as response:
        assert response.status == 404
