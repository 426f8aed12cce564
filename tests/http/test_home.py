"""The page at /, which leads to all that a person can look at."""

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


async def test_it_needs_nothing_from_elsewhere(client: Client) -> None:
    async with client.get("/") as response:
        text = await response.text()
        assert not re.search(r'(src|href)="(?!/|data:)', text)
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


async def test_other_paths_are_still_unknown(client: Client) -> None:
    async with client.get("/home.html") as response:
        assert response.status == 404
