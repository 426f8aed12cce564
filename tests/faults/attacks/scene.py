"""What the attacks are made on, and what others are owed there."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)
# What a good caller is owed while an attack goes on, and once it is over, in seconds.
PATIENCE = 3.0
FREE_SECONDS = 5.0
_IDLE = re.compile(r"^quartet_(?:in_flight\{.*\}|queue_waiting\{.*\}|held_bytes) (\S+)$", re.MULTILINE)


@dataclass
class Scene:
    """The product under attack: its address, keys of a free and of a company's caller, and Triton's gRPC address."""

    port: int
    free: str
    company: str
    grpc: str
    scale: float = 1.0
    # Seconds that calls of the company's key took, by what they wanted.
    waits: dict[str, list[float]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, full: int) -> int:
        """So many of what is ``full`` at full size."""
        return max(1, round(self.scale * full))

    @contextlib.asynccontextmanager
    async def session(self, key: str) -> AsyncIterator[aiohttp.ClientSession]:
        """A client that opens as many connections as it is asked to."""
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        headers = {"Authorization": f"Bearer {key}"}
        async with aiohttp.ClientSession(
            self.url, connector=connector, headers=headers, timeout=_NO_TIMEOUT
        ) as session:
            yield session

    async def ask(self, name: str, session: aiohttp.ClientSession, path: str, **body: Any) -> None:
        """One call of a good caller, timed; ``AssertionError`` where it is not answered well."""
        began = time.monotonic()
        async with session.post(path, **body) as response:
            answer = await response.read()
            assert response.status == 200, (name, response.status, answer[:200])
        self.waits.setdefault(name, []).append(time.monotonic() - began)


async def seconds_until_free(scene: Scene) -> float:
    """How long it takes until no call waits or runs and nothing is held; ten times what is allowed at most."""
    began = time.monotonic()
    async with aiohttp.ClientSession() as session:
        while time.monotonic() - began < 10 * FREE_SECONDS:
            async with session.get(f"{scene.url}/metrics") as response:
                if not any(float(value) for value in _IDLE.findall(await response.text())):
                    break
            await asyncio.sleep(0.1)
    return time.monotonic() - began


async def while_asking(
    scene: Scene, name: str, path: str, body: Callable[[], Mapping[str, Any]], attack: Coroutine[Any, Any, None]
) -> None:
    """Attack while a company's caller asks again and again, and once more when it is over."""
    async with scene.session(scene.company) as session:
        attacking = asyncio.create_task(attack)
        try:
            await asyncio.sleep(0.5)
            while not attacking.done():
                await scene.ask(name, session, path, **body())
                await asyncio.sleep(0.2)
        finally:
            await attacking
        await scene.ask(f"{name} after", session, path, **body())
