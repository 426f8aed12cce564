"""The ledger is exact whatever is killed, and no caller notices that the database is away."""

import asyncio
import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import func, select

from frontend.access import api_key
from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.config.reading import CONFIG_FILE
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS
from scripts.local_triton.checks import free_port
from tests.conftest import KEY, ROOT, bearer
from tests.databases import PostgresServer
from tests.fakes import add_key
from tests.frontends import Frontend, named, prepare, running

ORG, TOP_UP = "acme", 1_000_000_000
_FRONTENDS = 2
_CALLERS = 12
_RETRY_SECONDS = 0.05
_PRICES = "[prices.embed-m3]\nmillion_tokens = 3\n[prices.rerank-v2-m3]\nmillion_tokens = 7\n"
_FAILURES = (aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass
class Fleet:
    """Frontends on separate ports, which are killed and started again."""

    environ: dict[str, str]
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(_FRONTENDS)])
    processes: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)

    async def start(self, port: int) -> None:
        """Start one and wait until it answers."""
        command = (sys.executable, "-m", "tests.fake_frontend")
        environ = {**os.environ, **self.environ, **named(PORT=port, LOG_LEVEL="ERROR")}
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environ, stdout=asyncio.subprocess.PIPE)
        self.processes[port] = process
        assert process.stdout is not None
        assert await process.stdout.readline(), "a frontend did not start"

    async def kill(self, port: int) -> None:
        self.processes[port].kill()
        await self.processes[port].wait()

    async def stop(self) -> None:
        """As an operator does: everything is settled."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            await process.wait()


@dataclass(frozen=True)
class Delivered:
    """An answer that a client has whole: the id of its request, and what it must cost."""

    request_id: str
    amount: int


def _request(number: int) -> tuple[str, dict[str, object], int]:
    """Path, body and what a token costs; answers of all sizes."""
    if number % 3:
        return "/v1/embeddings", {"input": ["word " * (1 + number % 40)] * (1 + number % 32)}, 3
    return "/v1/rerank", {"query": "who", "documents": ["word " * (1 + number % 50)] * (1 + number % 8)}, 7


class Clients:
    """Callers who want ``requests`` answers in all."""

    def __init__(self, fleet: Fleet, key: str, requests: int) -> None:
        self._fleet, self._headers = fleet, bearer(key)
        self._numbers = iter(range(requests))
        self.delivered: list[Delivered] = []

    async def run(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            await asyncio.gather(*(self._call_all(session) for _ in range(_CALLERS)))

    async def _call_all(self, session: aiohttp.ClientSession) -> None:
        for number in self._numbers:
            while not await self._call(session, number):  # noqa: ASYNC110 - each turn is a call
                await asyncio.sleep(_RETRY_SECONDS)

    async def _call(self, session: aiohttp.ClientSession, number: int) -> bool:
        path, body, price = _request(number)
        headers = self._headers | {"X-Request-Id": f"storm-{number}"}
        url = f"http://127.0.0.1:{random.choice(self._fleet.ports)}{path}"
        try:
            async with session.post(url, json=body, headers=headers) as response:
                answer = await response.json()
                if response.status != 200:
                    return False
                tokens = answer["usage"]["total_tokens"]
                self.delivered.append(Delivered(response.headers["X-Request-Id"], tokens * price))
                return True
        except _FAILURES:
            return False


@dataclass(frozen=True)
class Outcome:
    """What clients have and what the ledger has; ``balance`` and ``charged`` in micro-CHF."""

    delivered: list[Delivered]
    rows: list[tuple[str, int]]
    balance: int
    by_day: int

    @property
    def faults(self) -> list[str]:
        """Whatever is not as it must be."""
        wanted = {answer.request_id: answer.amount for answer in self.delivered}
        found = Counter(request_id for request_id, _ in self.rows)
        charged = sum(amount for _, amount in self.rows)
        checks = {
            f"lost: {sorted(wanted.keys() - found.keys())[:5]}": wanted.keys() <= found.keys(),
            f"nobody has: {sorted(found.keys() - wanted.keys())[:5]}": found.keys() <= wanted.keys(),
            f"twice: {[name for name, times in found.items() if times > 1][:5]}": max(found.values(), default=0) < 2,
            "another amount": all(wanted.get(name, amount) == amount for name, amount in self.rows),
            f"the balance is off by {TOP_UP - charged - self.balance}": TOP_UP - charged == self.balance,
            f"the sums by day are off by {charged - self.by_day}": charged == self.by_day,
        }
        return [fault for fault, holds in checks.items() if not holds]


async def storm(database: str, folder: Path, requests: int, kills: int) -> Outcome:
    """Prepare, call, kill, settle, and read the ledger."""
    key, engine = api_key.new_key(), open_engine(database)
    await migrate(engine)
    registry, books = Registry(engine), UsageQueries(engine)
    await registry.create_org(ORG, None)
    await add_key(engine, key, org=ORG)
    await books.top_up(ORG, TOP_UP, None)
    (folder / "quartet.toml").write_text(_PRICES, encoding="utf-8")
    own = named(DATABASE=database, USAGE_FOLDER=folder / "usage")
    fleet = Fleet({CONFIG_FILE: str(folder / "quartet.toml"), **own})
    await asyncio.gather(*map(fleet.start, fleet.ports))
    clients = Clients(fleet, key, requests)
    calling = asyncio.create_task(clients.run())
    for kill in range(kills):
        # Spread over the whole run, however fast the machine is.
        moment = requests * (kill + random.random()) / kills
        while len(clients.delivered) < moment and not calling.done():  # noqa: ASYNC110 - between two answers
            await asyncio.sleep(0.001)
        port = random.choice(fleet.ports)
        await fleet.kill(port)
        await fleet.start(port)
    await calling
    await fleet.stop()
    async with engine.connect() as connection:
        rows = await connection.execute(select(USAGE_EVENTS.c.request_id, USAGE_EVENTS.c.amount))
        pairs = [(row[0], row[1]) for row in rows]
        by_day = int(await connection.scalar(select(func.sum(USAGE_DAYS.c.amount))) or 0)
    balance = await books.balance(ORG)
    async with engine.connect() as connection:
        left = list(await connection.scalars(select(RESERVATIONS.c.id)))
    await engine.dispose()
    assert not left, f"reservations are left: {left}"
    assert balance is not None
    return Outcome(clients.delivered, pairs, balance, by_day)


# Longer than SQLite waits for a lock.
_AWAY_SECONDS = 7.0


async def test_every_delivered_answer_is_charged_once_while_frontends_are_killed(
    empty_database: str, tmp_path: Path
) -> None:
    assert (await storm(empty_database, tmp_path, requests=150, kills=2)).faults == []


@contextmanager
def _locked(address: str) -> Iterator[None]:
    connection = sqlite3.connect(address.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


@pytest.fixture
def away(empty_database: str, request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """Within it the database is locked, or refuses connections and has ended those there were."""
    if empty_database.startswith("sqlite"):
        return _locked(empty_database)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.refusing(empty_database)


@pytest.fixture
async def frontend(empty_database: str, tmp_path: Path) -> AsyncIterator[Frontend]:
    with running(await asyncio.to_thread(prepare, tmp_path, empty_database)) as started:
        yield started


async def test_while_the_database_is_away_no_request_fails_and_no_charge_is_lost(
    frontend: Frontend, away: AbstractContextManager[None], empty_database: str
) -> None:
    statuses: list[int] = []

    async def call(session: aiohttp.ClientSession) -> None:
        async with session.post(f"{frontend.address}/v1/embeddings", json={"input": "a"}) as response:
            statuses.append(response.status)

    async with aiohttp.ClientSession(headers=bearer(KEY)) as session:
        await call(session)
        with away:
            for _ in range(int(_AWAY_SECONDS * 20)):
                await call(session)
                await asyncio.sleep(0.05)
        await call(session)
    assert set(statuses) == {200}
    assert await _charges(empty_database, len(statuses)) == len(statuses)


async def _charges(database: str, wanted: int) -> int:
    """How many there are, once there are as many as wanted or time is up."""
    engine = open_engine(database)
    count = 0
    async with engine.connect() as connection:
        for _ in range(200):
            count = await connection.scalar(select(func.count()).select_from(USAGE_EVENTS)) or 0
            if count >= wanted:
                break
            await connection.rollback()
            await asyncio.sleep(0.1)
    await engine.dispose()
    return count
