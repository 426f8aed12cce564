"""What everybody else has of the service meanwhile, seen from a process of its own: ``python -m ...witness URL PID``.

Prints a line of JSON for each look: the time, for how long ``/health/live`` took in seconds, and now and then the
bytes of memory that belong to the product alone. Ends with its standard input.
"""

import asyncio
import json
import os
import sys
import threading
import time

import aiohttp
import psutil

_LOOK_SECONDS = 0.05
_MEMORY_SECONDS = 1.0
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


def _tell(**values: float) -> None:
    # In one piece, since two threads tell.
    os.write(1, json.dumps({"at": time.time(), **values}).encode() + b"\n")


def _watch_memory(pid: int) -> None:
    while True:
        _tell(memory=memory(pid))
        time.sleep(_MEMORY_SECONDS)


async def _watch_health(url: str) -> None:
    # A connection for each look: that is how probes and new callers come.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(_LONGEST)) as session:
        while True:
            began = time.monotonic()
            try:
                async with session.get(f"{url}/health/live") as response:
                    await response.read()
                    passed = time.monotonic() - began if response.status == 200 else _LONGEST
            except (aiohttp.ClientError, TimeoutError):
                passed = _LONGEST
            _tell(health=passed)
            await asyncio.sleep(_LOOK_SECONDS)


def main() -> None:
    threading.Thread(target=_watch_memory, args=(int(sys.argv[2]),), daemon=True).start()
    threading.Thread(target=lambda: asyncio.run(_watch_health(sys.argv[1])), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
