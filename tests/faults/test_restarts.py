"""Restarts of workers cost nobody an answer; ``python -m lab.probes.restarts`` measures it at full size."""

import asyncio
import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from frontend.config.reading import CONFIG_FILE
from tests.conftest import KEY, bearer
from tests.eventually import until
from tests.fake_workers import SECONDS
from tests.faults.callers import Callers
from tests.faults.served import Served
from tests.frontends import named, prepare
from tests.raw import connection, post
from tests.redis import RedisServer

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


async def test_no_request_is_lost_while_workers_are_renewed_or_a_frontend_stops(frontend: Served) -> None:
    callers = Callers(frontend.url, KEY, 6)
    calling = asyncio.create_task(callers.run())
    await until(lambda: callers.answered.total() > 20)
    await frontend.renew()
    stopping = asyncio.create_task(frontend.stop())
    # A proxy stops sending requests when the frontend is not ready.
    await until(lambda: _is_stopping(frontend))
    callers.stop()
    await calling
    assert (callers.lost, await stopping) == ([], 0)


async def test_a_second_signal_ends_at_once_and_leaves_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    frontend = Served({**environ, SECONDS: "100"}, tmp_path / "log")
    try:
        await frontend.start()
        assert frontend.process is not None
        family = psutil.Process(frontend.process.pid).children(recursive=True)
        async with connection(frontend.port) as (_, writer):
            writer.write(post("/v1/embeddings", b'{"input": "%s"}' % LONG.encode()))
            frontend.tell(signal.SIGTERM)
            await until(lambda: _is_stopping(frontend))
            assert await frontend.stop(seconds=20) == 128 + signal.SIGTERM
        assert family
        assert not any(each.is_running() for each in family)
    finally:
        frontend.kill()


def _write(path: Path, find: str, replace: str) -> None:
    path.write_text(re.sub(find, replace, path.read_text(encoding="utf-8"), count=1), encoding="utf-8")


def _offered(frontend: Served) -> Any:
    with urllib.request.urlopen(f"{frontend.url}/offer.json", timeout=10) as answer:
        return json.load(answer)


async def test_settings_are_reloaded_or_refused_as_a_whole(frontend: Served, environ: dict[str, str]) -> None:
    path, workers = Path(environ[CONFIG_FILE]), frontend.workers()
    for line, reason in (
        ("threads = 0", "threads: must be greater than or equal to 1, not '0'"),
        ('host = "0.0.0.0"', "QUARTET_HOST: cannot change"),
        ('jwt_jwks = "http://keys"', "a worker does not start with them"),
    ):
        _write(path, "^", f"{line}\n")
        frontend.tell(signal.SIGHUP)
        await until(lambda reason=reason: reason in frontend.log.read_text(encoding="utf-8"), 60)  # type: ignore[misc]
        _write(path, f"{line}\n", "")
        await until(lambda: frontend.workers() == workers)
        assert frontend.is_whole()
    _write(path, "^", 'ready_models = "m3_embedder"\nmodels = "embed-m3"\n')
    _write(path, r"\Z", '\n[aliases.models]\nbge = "embed-m3"\n')
    await frontend.renew()
    look = frontend.look()
    assert look is not None
    assert look.body["models"].keys() == {"m3_embedder"}
    assert _offered(frontend)["aliases"]["models"] == {"bge": "embed-m3"}


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
        look = frontend.look()
        assert look is not None
        assert look.body["workers"] == {"wanted": 2, "accepting": 2, "leaving": 0, "restarts": 1, "failing": 0}
        assert await through_a_drain(frontend, 2)
    finally:
        frontend.kill()
