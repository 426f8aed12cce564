"""Three frontends that share a database and a Redis: limits hold over all of them, a revoked key ends on all."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import aiohttp
import pytest

from frontend.access import api_key
from frontend.commands.database import with_database
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from tests.conftest import ROOT, bearer
from tests.fakes import add_key
from tests.frontends import Frontend, prepare, running
from tests.redis import RedisServer

EMBED = "/v1/embeddings"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> dict[str, str]:
    return prepare(tmp_path_factory.mktemp("three"), REDIS=redis_server.url)


@pytest.fixture(scope="module")
def frontends(environ: dict[str, str]) -> Iterator[list[Frontend]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running(environ, "--one-minute")) for _ in range(3)]


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as opened:
        yield opened


def _new_key(environ: dict[str, str], limit: int) -> str:
    key = api_key.new_key()
    settings = Settings(database=environ[f"{PREFIX}DATABASE"])
    with_database(settings, lambda engine: add_key(engine, key, limits={"embeddings": limit}))
    return key


async def _ask(session: aiohttp.ClientSession, frontend: Frontend, key: str) -> int:
    async with session.post(frontend.address + EMBED, json={"input": "a"}, headers=bearer(key)) as response:
        await response.read()
        return response.status


async def _run_keys(environ: dict[str, str], *words: str) -> str:
    """What ``quartet keys`` prints."""
    command = [sys.executable, "-m", "frontend", "keys", *words]
    env = {**os.environ, **environ}
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    return str(done.stdout)


# On a busy machine Redis may be late, and then each frontend lets its share pass.
@pytest.mark.alone
async def test_exactly_the_limit_of_ten_times_as_many_requests_passes(
    session: aiohttp.ClientSession, frontends: list[Frontend], environ: dict[str, str]
) -> None:
    key = await asyncio.to_thread(_new_key, environ, 60)
    calls = (_ask(session, frontends[number % 3], key) for number in range(600))
    statuses = await asyncio.gather(*calls)
    assert (statuses.count(200), statuses.count(429)) == (60, 540)


async def test_a_revoked_key_ends_on_every_frontend_within_five_seconds(
    session: aiohttp.ClientSession, frontends: list[Frontend], environ: dict[str, str]
) -> None:
    key = await asyncio.to_thread(_new_key, environ, 1000)
    assert [await _ask(session, frontend, key) for frontend in frontends] == [200, 200, 200]
    await _run_keys(environ, "revoke", api_key.prefix(key))
    async with asyncio.timeout(5):
        for frontend in frontends:
            while (status := await _ask(session, frontend, key)) == 200:  # noqa: ASYNC110 - each turn asks
                await asyncio.sleep(0.05)
            assert status == 401


async def test_a_key_that_is_made_works_at_once(
    session: aiohttp.ClientSession, frontends: list[Frontend], environ: dict[str, str]
) -> None:
    key = (await _run_keys(environ, "create", "--name", "new")).splitlines()[-1]
    assert [await _ask(session, frontend, key) for frontend in frontends] == [200, 200, 200]
