"""Many live sessions that do little or harm: python -m lab.probes.live_crowd

It starts the frontend with a fake Triton, and measures its memory with idle sessions, and the time of a short request
while sessions send a byte a second, send as fast as they can, never read, or hang up in the middle. Time in which the
frontend or the client waits for a processor does not count: the crowd itself keeps one busy.
"""

import asyncio
import base64
import multiprocessing
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from frontend.commands.database import with_database
from frontend.config.settings import Settings
from tests.conftest import KEY, bearer
from tests.fakes import add_key

_IDLE, _CROWD, _SECONDS = 1000, 500, 5.0
_PATH = "/v1/realtime?intent=transcription"
# A second of noise, which is no speech.
_AUDIO = base64.b64encode(os.urandom(48_000)).decode()
_APPEND = f'{{"type": "input_audio_buffer.append", "audio": "{_AUDIO}"}}'
Behaves = Callable[[aiohttp.ClientSession, str], Awaitable[None]]


def _transport(socket: Any) -> Any:
    return socket._response.connection.transport


async def one_byte_a_second(client: aiohttp.ClientSession, url: str) -> None:
    """The first bytes of a message of 100,000 bytes."""
    async with client.ws_connect(f"{url}{_PATH}") as socket:
        wire = _transport(socket)
        wire.write(b"\x81\xff" + (100_000).to_bytes(8, "big") + b"mask")
        while True:
            await asyncio.sleep(1)
            wire.write(b"a")


async def flood(client: aiohttp.ClientSession, url: str) -> None:
    """Audio as fast as the server takes it."""
    async with client.ws_connect(f"{url}{_PATH}") as socket:
        while not socket.closed:
            await socket.send_str(_APPEND)


async def never_read(client: aiohttp.ClientSession, url: str) -> None:
    """Events that have answers, which nobody reads."""
    async with client.ws_connect(f"{url}{_PATH}") as socket:
        _transport(socket).pause_reading()
        while not socket.closed:
            await socket.send_str('{"type": "input_audio_buffer.clear"}')
            await asyncio.sleep(0)


async def hang_up(client: aiohttp.ClientSession, url: str) -> None:
    """A connection that breaks in the middle of a message, again and again."""
    while True:
        async with client.ws_connect(f"{url}{_PATH}") as socket:
            await socket.send_str(_APPEND)
            _transport(socket).abort()


async def idle(client: aiohttp.ClientSession, url: str) -> None:
    async with client.ws_connect(f"{url}{_PATH}") as socket:
        async for _ in socket:
            pass


def crowd(behaves: Behaves, count: int, url: str, key: str) -> None:
    """Sessions in a process of their own, which delays no measurement."""

    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers=bearer(key), connector=connector) as client:
            await asyncio.gather(*(behaves(client, url) for _ in range(count)), return_exceptions=True)

    asyncio.run(run())


def waited(pid: int) -> float:
    """Seconds for which the main thread of a process could have run, but had no processor."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9


async def times(client: aiohttp.ClientSession, url: str, seconds: float, pid: int) -> list[float]:
    """Milliseconds of short requests over connections of their own, one after the other."""
    taken, end = [], time.monotonic() + seconds
    path, headers = f"{url}/v1/embeddings", {"Connection": "close"}
    while time.monotonic() < end:
        began, *before = time.perf_counter(), waited(pid), waited(os.getpid())
        async with client.post(path, json={"input": "a"}, headers=headers) as response:
            assert response.status == 200, await response.text()
        passed = time.perf_counter() - began
        # Both may have waited at the same time.
        lost = max(waited(pid) - before[0], waited(os.getpid()) - before[1])
        taken.append(1000 * max(0.0, passed - lost))
        await asyncio.sleep(0.02)
    return sorted(taken)


async def held(server: asyncio.subprocess.Process) -> float:
    """The most milliseconds for which the event loop was blocked since the last call."""
    assert server.stdout is not None
    server.send_signal(signal.SIGUSR1)
    return float(await server.stdout.readline())


async def until_open(client: aiohttp.ClientSession, url: str, count: int) -> int:
    """Wait until all sessions are open, at most 20 s; return their number."""
    opened = 0
    for _ in range(40):
        await asyncio.sleep(0.5)
        async with client.get(f"{url}/metrics") as response:
            found = re.search(r"^quartet_live_sessions\{.*\} (\S+)$", await response.text(), re.M)
        opened = int(float(found[1])) if found else 0
        if opened >= count:
            break
    return opened


async def measure(client: aiohttp.ClientSession, url: str, server: asyncio.subprocess.Process) -> None:
    process = psutil.Process(server.pid)

    async def show(name: str, before: int) -> None:
        await held(server)
        taken = await times(client, url, _SECONDS, server.pid)
        times_ms = f"{statistics.median(taken):.1f} ms, p99 {taken[int(0.99 * len(taken))]:.1f} ms"
        grown = (process.memory_info().rss - before) / 1e6
        print(f"{name}: {times_ms}, event loop held {await held(server):.0f} ms, memory {grown:+.0f} MB", flush=True)

    # Workers and caches are made at the first request.
    await times(client, url, 1.0, server.pid)
    await show("alone", process.memory_info().rss)
    crowds: list[tuple[Behaves, int]] = [(idle, _IDLE), *((each, _CROWD) for each in (one_byte_a_second, never_read))]
    for behaves, count in [*crowds, (hang_up, 20), (flood, 20)]:
        before = process.memory_info().rss
        others = multiprocessing.get_context("spawn").Process(target=crowd, args=(behaves, count, url, KEY))
        others.start()
        opened = await until_open(client, url, count)
        await show(f"{count} sessions ({opened} open): {behaves.__name__}", before)
        others.kill()
        others.join()
        await asyncio.sleep(1)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/quartet.sqlite3"
        values = {"DATABASE": database, "USAGE_FOLDER": f"{folder}/usage", "PORT": "0", "EXTENSIONS": "realtime"}
        values |= {"LIVE_SESSIONS": "5000", "CONNECTIONS_PER_ADDRESS": "0", "UNPAID_SECONDS": "1000"}
        values |= {"LOG_LEVEL": "ERROR"}
        environ = {**os.environ, **{f"QUARTET_{name}": value for name, value in values.items()}}
        await asyncio.to_thread(with_database, Settings(database=database), lambda engine: add_key(engine, KEY))
        command = (sys.executable, "-m", "tests.fake_frontend", "--watch")
        server = await asyncio.create_subprocess_exec(*command, env=environ, stdout=asyncio.subprocess.PIPE)
        assert server.stdout is not None
        try:
            url = (await server.stdout.readline()).decode().strip()
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(headers=bearer(KEY), connector=connector) as client:
                await measure(client, url, server)
        finally:
            server.terminate()
            await server.wait()


if __name__ == "__main__":
    assert Path("frontend").is_dir(), "run it in the repository"
    asyncio.run(main())
