"""What everybody else has of the service meanwhile, seen from a process of its own."""

import asyncio
import json
import time
from multiprocessing import get_context
from pathlib import Path

import aiohttp
import psutil

_LOOK_SECONDS = {"health": 0.05, "memory": 1.0}
# What does not answer by then has been away.
_LONGEST = 30.0


def memory(pid: int) -> int:
    """Bytes of a process and all that it has started; what several share counts once in all."""
    total = 0
    process = psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
            continue
    return total


async def _health(session: aiohttp.ClientSession, url: str) -> float:
    began = time.monotonic()
    try:
        async with session.get(f"{url}/health/live") as response:
            await response.read()
            return time.monotonic() - began if response.status == 200 else _LONGEST
    except (aiohttp.ClientError, TimeoutError):
        return _LONGEST


async def _watch(url: str, pid: int, seen: Path) -> None:
    # A connection for each look: that is how probes and new callers come.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(_LONGEST)) as session:

        async def look(what: str) -> None:
            while True:
                found = await (_health(session, url) if what == "health" else asyncio.to_thread(memory, pid))
                file.write(json.dumps([time.time(), what, found]) + "\n")
                await asyncio.sleep(_LOOK_SECONDS[what])

        with seen.open("w", buffering=1) as file:
            await asyncio.gather(*map(look, _LOOK_SECONDS))


def _run(url: str, pid: int, seen: Path) -> None:
    asyncio.run(_watch(url, pid, seen))


class Witness:
    """The process that looks on; all its looks are in the file ``seen``."""

    def __init__(self, url: str, pid: int, seen: Path) -> None:
        self._seen = seen
        self._process = get_context("spawn").Process(target=_run, args=(url, pid, seen), daemon=True)
        self._process.start()

    def looks(self, what: str, since: float) -> list[float]:
        """Seconds of calls for ``health``, or bytes of ``memory``, since so many seconds after 1970."""
        looks = map(json.loads, self._seen.read_text(encoding="utf-8").splitlines())
        return [found for at, looked, found in looks if looked == what and at >= since]
