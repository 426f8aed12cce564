"""Stops cost nobody an answer; ``python -m lab.probes.restarts`` measures them at full size."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.conftest import KEY, bearer
from tests.eventually import until
from tests.fake_workers import SECONDS
from tests.faults.callers import Callers
from tests.faults.served import Served
from tests.frontends import named, prepare
from tests.raw import connection, post
from tests.redis import RedisServer
from tests.signals import signals

# Embedded in ``SECONDS``.
LONG = "word " * 100


@pytest.fixture
async def environ(tmp_path: Path) -> dict[str, str]:
    # Long enough that a busy machine sees that it stops.
    return {**await asyncio.to_thread(prepare, tmp_path, STOP_DELAY_SECONDS=3), SECONDS: "2"}


@pytest.fixture
async def frontend(environ: dict[str, str], tmp_path: Path) -> AsyncIterator[Served]:
    served = Served(environ, tmp_path / "log")
    await served.start()
    yield served
    served.kill()


def _is_stopping(frontend: Served) -> bool:
    look = frontend.look()
    return look is not None and look.status == 503


async def test_no_request_is_lost_while_a_frontend_stops(frontend: Served) -> None:
    callers = Callers(frontend.url, KEY, 6)
    calling = asyncio.create_task(callers.run())
    await until(lambda: callers.answered.total() > 20)
    stopping = asyncio.create_task(frontend.stop())
    # A proxy stops sending requests when the frontend is not ready.
    await until(lambda: _is_stopping(frontend))
    callers.stop()
    await calling
    assert (callers.lost, await stopping) == ([], 0)


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_second_signal_ends_at_once_and_leaves_nothing(
    environ: dict[str, str], tmp_path: Path, redis_server: RedisServer, workers: int
) -> None:
    own = {**named(REDIS=redis_server.url, WORKERS=workers), SECONDS: "100"}
    frontend = Served({**environ, **own}, tmp_path / "log")
    try:
        await frontend.start()
        assert frontend.process is not None
        process = psutil.Process(frontend.process.pid)
        family = [process, *process.children(recursive=True)]
        async with connection(frontend.port) as (_, writer):
            writer.write(post("/v1/embeddings", b'{"input": "%s"}' % LONG.encode()))
            frontend.tell(signal.SIGTERM)
            await until(lambda: _is_stopping(frontend))
            assert await frontend.stop(seconds=20) == 128 + signal.SIGTERM
        assert len(family) >= workers
        assert not any(each.is_running() for each in family)
    finally:
        frontend.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_start(environ: dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    frontend = Served(environ, tmp_path / "log")
    try:
        frontend.spawn()
        assert frontend.process is not None
        pid = frontend.process.pid
        await until(lambda: signal.SIGTERM in signals(pid, "SigCgt"))
        assert await frontend.stop(number, seconds=20) == 0
        assert frontend.log.read_text(encoding="utf-8") == ""
    finally:
        frontend.kill()


async def ask(session: aiohttp.ClientSession, frontend: Served, text: str) -> int | str:
    """The status of an answer, or the error."""
    try:
        async with session.post(f"{frontend.url}/v1/embeddings", json={"input": text}) as response:
            await response.read()
            return response.status
    except aiohttp.ClientError as error:
        return repr(error)


async def through_a_drain(frontend: Served, seconds: float) -> bool:
    """Whether a request that takes ``seconds`` is answered while its frontend drains."""
    async with aiohttp.ClientSession(headers=bearer(KEY)) as session:
        began = time.monotonic()
        asked = asyncio.create_task(ask(session, frontend, LONG))
        await asyncio.sleep(min(1.0, seconds / 2))
        code = await frontend.stop(seconds=seconds + 30)
        status = await asked
    print(f"a request of {seconds:g} s through a drain: {status} after {time.monotonic() - began:.1f} s, exit {code}")
    return (status, code) == (200, 0)


def _held(pid: int, port: int) -> int:
    """The callers that a worker is connected with."""
    found = psutil.Process(pid).net_connections("tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port for each in found)


async def of_a_killed_worker(frontend: Served, requests: int) -> bool:
    """Whether a killed worker loses only the requests it worked on, and new requests are answered."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(headers=bearer(KEY), connector=connector) as session:
        slow = [asyncio.create_task(ask(session, frontend, LONG)) for _ in range(requests)]
        await asyncio.sleep(0.5)
        victim = max(frontend.workers(), key=lambda pid: _held(pid, frontend.port))
        held = _held(victim, frontend.port)
        os.kill(victim, signal.SIGKILL)
        others = [await ask(session, frontend, "a") for _ in range(5 * requests)]
        statuses = await asyncio.gather(*slow)
        await until(frontend.is_whole, 60)
    lost = requests - statuses.count(200)
    print(f"a worker of two is killed: of {requests} requests under way it had {held}, and {lost} are lost")
    return others.count(200) == len(others) and lost == held


async def test_a_killed_worker_costs_what_it_was_working_on_and_a_drain_nothing(
    environ: dict[str, str], tmp_path: Path, redis_server: RedisServer
) -> None:
    frontend = Served(environ | named(REDIS=redis_server.url, WORKERS=2), tmp_path / "log")
    try:
        await frontend.start()
        assert await of_a_killed_worker(frontend, 16)
        assert await through_a_drain(frontend, 2)
    finally:
        frontend.kill()
