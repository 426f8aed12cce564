"""The admin port, for health, metrics and the administration."""

import asyncio
import re

import pytest
from aiohttp import web

from frontend.concurrency.turnstile import Turnstile
from tests.conftest import Client
from tests.http.calls import ADMIN_KEY, EMBED, runner_of
from tests.raw import answer, ask, connection, head

# Any port but 0: the fixture takes a free one.
pytestmark = pytest.mark.settings(admin_port=1, admin_key=ADMIN_KEY, connections=2)

PRIVATE = ("/health/ready", "/metrics", "/admin/v1/orgs", "/keys", "/keys/keys.js")
# Other spellings of private paths.
SPELLED = ("/%61dmin/v1/orgs", "//admin/v1/orgs", "/x/../admin/v1/orgs", "/admin%2Fv1%2Forgs", "http://h/metrics")
PUBLIC = ("/v1/models", "/", "/dashboard")


@pytest.fixture
async def admin_port(client: Client) -> int:
    admin = runner_of(client).admin
    await web.TCPSite(admin, "127.0.0.1", 0).start()
    return int(admin.addresses[0][1])


async def _status(port: int | None, path: str) -> int:
    return (await ask(port, head("GET", path, key=ADMIN_KEY))).status


@pytest.mark.parametrize("path", PRIVATE)
async def test_a_private_path_is_answered_on_the_admin_port_alone(client: Client, admin_port: int, path: str) -> None:
    assert (await _status(client.server.port, path), await _status(admin_port, path)) == (404, 200)


async def test_no_spelling_of_a_private_path_is_answered_on_the_api_port(client: Client) -> None:
    assert {path: await _status(client.server.port, path) for path in SPELLED} == dict.fromkeys(SPELLED, 404)


@pytest.mark.parametrize("path", PUBLIC)
async def test_a_path_for_callers_is_not_answered_on_the_admin_port(client: Client, admin_port: int, path: str) -> None:
    assert await _status(client.server.port, path) != 404
    assert await _status(admin_port, path) == 404


async def test_a_probe_of_the_admin_port_waits_for_no_turns_of_others(
    client: Client, admin_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Turnstile] = []

    async def turn(self: Turnstile) -> None:
        taken.append(self)

    monkeypatch.setattr(Turnstile, "turn", turn)
    for path in ("/health/live", "/health/ready", "/metrics"):
        assert await _status(admin_port, path) == 200
    assert taken == []
    await _status(client.server.port, "/health/live")
    assert len(taken) == 1


async def test_the_start_page_links_no_private_path(client: Client) -> None:
    async with client.get("/") as response:
        links = re.findall(r'href="(/[^"]*)"', await response.text())
    assert "/docs" in links
    assert not [link for link in links if link.startswith(("/health", "/metrics", "/admin", "/keys"))]


async def test_the_page_of_keys_has_all_its_files_and_links_on_the_admin_port(client: Client, admin_port: int) -> None:
    text = (await ask(admin_port, head("GET", "/keys"))).body.decode()
    paths = re.findall(r'(?:src|href)="(/[^"]*)"', text)
    assert {"/keys", "/shared/style.css", "/keys/keys.js"} <= set(paths)
    assert {path: await _status(admin_port, path) for path in paths} == dict.fromkeys(paths, 200)


async def test_both_ports_say_that_the_process_lives(client: Client, admin_port: int) -> None:
    for port in (client.server.port, admin_port):
        assert await _status(port, "/health/live") == 200


async def test_probes_are_answered_while_the_api_has_all_its_connections(client: Client, admin_port: int) -> None:
    port = client.server.port
    async with connection(port), connection(port), connection(port) as (reader, _):
        assert (await answer(reader)).status == 502
        assert await _status(admin_port, "/health/ready") == 200


async def test_the_admin_port_answers_while_the_frontend_drains(client: Client, admin_port: int) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Content-Length: 2") + b"{")
        await asyncio.sleep(0.05)
        ended = asyncio.create_task(runner_of(client).cleanup())
        assert await _status(admin_port, "/health/live") == 200
        assert not ended.done()
        writer.write(b"}")
        assert (await answer(reader)).status == 400
    await ended
