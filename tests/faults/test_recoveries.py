"""What callers notice while Triton, Redis or the database is away, and how soon each is in use again.

``python -m pytest -s tests/faults/test_recoveries.py`` prints the seconds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from frontend.access import api_key
from frontend.commands.database import with_database
from frontend.config.settings import Settings
from tests.conftest import KEY, bearer
from tests.databases import PostgresServer
from tests.eventually import until
from tests.fakes import add_key, add_org
from tests.faults.served import FRONTEND, Served
from tests.frontends import prepare
from tests.redis import RedisServer
from tests.tritons import GrpcTriton

# Of a busy machine.
_NOISE = 3.0
_AWAY_SECONDS = 1.0
_PRICES = "[prices.embed-m3]\nmillion_tokens = 3\n"


@dataclass
class Whole:
    """A frontend with all that it needs, and a key of an organisation that prepays."""

    frontend: Served
    triton: GrpcTriton
    postgres: PostgresServer
    database: str
    prepaid: str
    session: aiohttp.ClientSession

    async def ask(self, key: str = KEY) -> tuple[int, float]:
        """The status of an answer, and its seconds."""
        began = time.monotonic()
        url = f"{self.frontend.url}/v1/embeddings"
        async with self.session.post(url, json={"input": "a"}, headers=bearer(key)) as response:
            await response.read()
        return response.status, time.monotonic() - began

    async def ask_for(self, seconds: float) -> tuple[set[int], float]:
        """The statuses of answers to one request after another, and the seconds of the slowest."""
        answers, end = [await self.ask()], time.monotonic() + seconds
        while time.monotonic() < end:
            answers.append(await self.ask())
            await asyncio.sleep(0.02)
        return {status for status, _ in answers}, max(took for _, took in answers)


@pytest.fixture
async def whole(tmp_path: Path, postgres: PostgresServer, redis_server: RedisServer) -> AsyncIterator[Whole]:
    database, prepaid, triton = postgres.new_database(), api_key.new_key(), GrpcTriton("127.0.0.1")
    own = {"TRITON": f"127.0.0.1:{triton.port}", "MODELS": "embed-m3", "REDIS": redis_server.url}
    environ = await asyncio.to_thread(prepare, tmp_path, database, STOP_DELAY_SECONDS=0, **own)
    await asyncio.to_thread(with_database, Settings(database=database), lambda engine: add_org(engine, "acme", 10**9))
    await asyncio.to_thread(
        with_database, Settings(database=database), lambda engine: add_key(engine, prepaid, org="acme")
    )
    with (tmp_path / "quartet.toml").open("a", encoding="utf-8") as file:
        file.write(_PRICES)
    async with aiohttp.ClientSession() as session:
        made = Whole(Served(environ, tmp_path / "log", FRONTEND), triton, postgres, database, prepaid, session)
        try:
            await triton.start()
            await made.frontend.start()
            yield made
        finally:
            made.frontend.kill()
            await made.triton.stop()


def _told(what: str, seconds: float, most: float) -> None:
    print(f"{what}: {seconds:.2f} s")
    assert seconds < most + _NOISE, what


async def _seconds_until(condition: Callable[[], object]) -> float:
    began = time.monotonic()
    await until(condition)
    return time.monotonic() - began


async def test_each_part_that_was_away_is_in_use_again_within_seconds(whole: Whole, redis_server: RedisServer) -> None:
    await _triton(whole)
    await _redis(whole, redis_server)
    await _database(whole)


async def _triton(whole: Whole) -> None:
    assert (await whole.ask())[0] == 200
    await whole.triton.stop()
    status, took = await whole.ask()
    _told("a refusal while no Triton is there", took, 1.0)
    assert status == 502
    whole.triton = GrpcTriton("127.0.0.1", whole.triton.port)
    await whole.triton.start()
    began = time.monotonic()
    while (await whole.ask())[0] != 200:  # noqa: ASYNC110 - each turn asks
        await asyncio.sleep(0.02)
    _told("an answer after Triton is back", time.monotonic() - began, 2.0)


async def _redis(whole: Whole, redis: RedisServer) -> None:
    def is_used() -> bool:
        return whole.frontend.counted("quartet_limiter_degraded") == 0

    for leave, come in ((redis.kill, redis.start), (redis.freeze, redis.thaw)):
        leave()
        statuses, slowest = await whole.ask_for(_AWAY_SECONDS)
        assert statuses == {200}
        _told(f"the slowest answer after Redis is gone ({leave.__name__})", slowest, 0.3)
        come()
        _told("Redis is in use after it is back", await _seconds_until(is_used), 2.0)


async def _database(whole: Whole) -> None:
    # Keys that are not known yet are refused meanwhile. On a busy disk the first query of a new database takes long.
    while (await whole.ask(whole.prepaid))[0] != 200:  # noqa: ASYNC110 - each turn asks
        await asyncio.sleep(0.02)
    with whole.postgres.refusing(whole.database):
        prepaid = asyncio.create_task(whole.ask(whole.prepaid))
        statuses, slowest = await whole.ask_for(_AWAY_SECONDS)
        assert statuses == {200}
        _told("the slowest answer without the database", slowest, 0.3)
    began = time.monotonic()
    assert (await prepaid)[0] == 200
    _told("a waiting prepaid answer after the database is back", time.monotonic() - began, 2.0)
    waiting = await _seconds_until(lambda: whole.frontend.counted("quartet_usage_waiting") == 0)
    _told("all charges are in the database after it is back", waiting, 2.0)
