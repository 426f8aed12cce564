"""A disk that is full: every answer is charged, and what cannot be charged is refused before the work."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import func, select

from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from tests.conftest import KEY, bearer
from tests.disks import SmallDisk, small_disk
from tests.eventually import until
from tests.frontends import Frontend, prepare, running

_CALLERS = 40
_LITTLE_BYTES = 16 * 1024 * 1024
_REFUSED = "502 usage cannot be recorded for the moment, retry with backoff"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "usage") as mounted:
        yield mounted or pytest.skip("this machine lets nobody mount a file system of their own")


@pytest.fixture
async def frontend(tmp_path: Path, disk: SmallDisk) -> AsyncIterator[Frontend]:
    with running(await asyncio.to_thread(prepare, tmp_path), within=disk.within) as started:
        yield started


class _Callers:
    """Clients who call again and again, and count the outcomes."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._in_flight: set[object] = set()
        self.outcomes: Counter[str] = Counter()
        self.stopped = False

    async def run(self) -> None:
        while not self.stopped:
            call = object()
            self._in_flight.add(call)
            async with self._session.post("/v1/embeddings", json={"input": "a"}) as response:
                answer = await response.json()
            charged = response.status == 200
            self.outcomes["charged" if charged else f"{response.status} {answer['error']['message']}"] += 1
            self._in_flight.discard(call)

    async def until_answered(self) -> None:
        """Wait for the calls that are in flight now."""
        calls = set(self._in_flight)
        await until(lambda: not calls & self._in_flight)

    async def until_ready(self, status: int) -> None:
        async with asyncio.timeout(20):
            while await self._readiness() != status:  # noqa: ASYNC110 - each turn asks
                await asyncio.sleep(0.05)

    async def _readiness(self) -> int:
        async with self._session.get("/health/ready") as response:
            return response.status


async def test_every_answer_is_charged_and_every_request_is_answered(
    frontend: Frontend, disk: SmallDisk, tmp_path: Path
) -> None:
    async with (
        aiohttp.ClientSession(frontend.address, headers=bearer(KEY)) as session,
        asyncio.TaskGroup() as calling,
    ):
        callers = _Callers(session)
        for _ in range(_CALLERS):
            calling.create_task(callers.run())
        await asyncio.sleep(0.5)
        for _ in range(2):
            await asyncio.to_thread(disk.fill, _LITTLE_BYTES)
            await callers.until_ready(503)
            await callers.until_answered()
            await asyncio.to_thread(disk.fill)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(disk.free)
            await callers.until_ready(200)
        callers.stopped = True
    assert callers.outcomes.keys() == {"charged", _REFUSED}
    frontend.process.terminate()
    await asyncio.to_thread(frontend.process.wait)
    engine = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    async with engine.connect() as connection:
        charged = await connection.scalar(select(func.count()).select_from(USAGE_EVENTS))
    await engine.dispose()
    assert charged == callers.outcomes["charged"]
