"""A disk that is full: whoever is answered is charged, and whoever cannot be is refused before the work."""

import asyncio
import contextlib
import os
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import func, select

from frontend.database.engine import open_engine
from frontend.database.tables import USAGE_EVENTS
from tests.conftest import KEY, bearer
from tests.frontends import Frontend, prepare, running

# A file system of its own, which the process and nobody else sees.
_SMALL_DISK = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64m none "$0" && exec "$@"')
_CALLERS = 40
_LITTLE = 16 * 1024 * 1024


@dataclass
class _Disk:
    """The one that a frontend writes its charges to."""

    folder: Path

    def fill(self, room: int) -> None:
        """So that so many bytes are left."""
        with (self.folder / "other").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while os.statvfs(self.folder).f_bavail * 4096 > room:
                file.write(bytes(4096))

    def empty(self) -> None:
        (self.folder / "other").unlink()


@dataclass
class _Full:
    """A frontend, its disk, and clients who count what they are told."""

    frontend: Frontend
    disk: _Disk
    session: aiohttp.ClientSession
    told: Counter[str]
    under_way: set[object] = field(default_factory=set)

    async def call(self) -> str:
        call = object()
        self.under_way.add(call)
        try:
            return await self._answered()
        finally:
            self.under_way.discard(call)

    async def until_answered(self) -> None:
        """Wait for the calls that are under way now."""
        calls = set(self.under_way)
        async with asyncio.timeout(20):
            while calls & self.under_way:  # noqa: ASYNC110 - each turn asks
                await asyncio.sleep(0.02)

    async def _answered(self) -> str:
        async with self.session.post(f"{self.frontend.address}/v1/embeddings", json={"input": "a"}) as response:
            answer = await response.json()
            outcome = "charged" if response.status == 200 else f"{response.status} {answer['error']['message']}"
            self.told[outcome] += 1
            return outcome

    async def readiness(self) -> int:
        async with self.session.get(f"{self.frontend.address}/health/ready") as response:
            return response.status

    async def until_ready(self, status: int) -> None:
        async with asyncio.timeout(20):
            while await self.readiness() != status:  # noqa: ASYNC110 - each turn asks
                await asyncio.sleep(0.05)


@pytest.fixture
async def full(tmp_path: Path) -> AsyncIterator[_Full]:
    (tmp_path / "usage").mkdir()
    command = (*_SMALL_DISK, str(tmp_path / "usage"))
    if (await asyncio.to_thread(subprocess.run, [*command, "true"], check=False)).returncode:
        pytest.skip("this machine lets nobody mount a file system of their own")
    environ = await asyncio.to_thread(prepare, tmp_path)
    with running(environ, within=command) as frontend:
        disk = _Disk(Path(f"/proc/{frontend.process.pid}/root{tmp_path}/usage"))
        async with aiohttp.ClientSession(headers=bearer(KEY)) as session:
            yield _Full(frontend, disk, session, Counter())


async def test_nobody_who_is_answered_is_missed_and_nobody_is_cut_off(full: _Full, tmp_path: Path) -> None:
    async def call_on() -> None:
        while not stopped.is_set():
            await full.call()

    stopped = asyncio.Event()
    async with asyncio.TaskGroup() as calling:
        for _ in range(_CALLERS):
            calling.create_task(call_on())
        await asyncio.sleep(0.5)
        for _ in range(2):
            await asyncio.to_thread(full.disk.fill, _LITTLE)
            await full.until_ready(503)
            await full.until_answered()
            await asyncio.to_thread(full.disk.fill, 0)
            await asyncio.sleep(0.5)
            full.disk.empty()
            await full.until_ready(200)
        stopped.set()
    assert full.told.keys() == {"charged", "502 usage cannot be recorded for the moment, retry with backoff"}
    full.frontend.process.terminate()
    await asyncio.to_thread(full.frontend.process.wait)
    engine = open_engine(f"sqlite:///{tmp_path}/quartet.sqlite3")
    async with engine.connect() as connection:
        assert await connection.scalar(select(func.count()).select_from(USAGE_EVENTS)) == full.told["charged"]
    await engine.dispose()
