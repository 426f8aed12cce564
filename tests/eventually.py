"""Wait for conditions that become true, however busy the machine is."""

import asyncio
from collections.abc import Callable

import aiohttp


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when ``condition`` holds; ``TimeoutError`` if that takes too long."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def until_ready(url: str, seconds: float) -> None:
    """Wait until a frontend is ready; ``TimeoutError`` after ``seconds``."""
    async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"{url}/health/ready") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
