"""Wait for what happens by itself, however busy the machine is."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when ``condition`` holds; ``TimeoutError`` if that takes too long."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)
