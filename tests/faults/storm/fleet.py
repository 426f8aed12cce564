"""Two frontends that are killed and started again, and callers who repeat each request until it is answered."""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from scripts.local_triton.checks import free_port
from tests.conftest import ROOT, bearer
from tests.eventually import until
from tests.frontends import named

FRONTENDS = 2
_CALLERS = 12
_RETRY_SECONDS = 0.05
# Of a busy machine.
_LONGEST_SECONDS = 120.0
_FAILURES = (aiohttp.ClientError, ConnectionError, TimeoutError)
# In micro-CHF per token.
EMBEDDING, RANKING = 3, 7


@dataclass
class Fleet:
    """Frontends on separate ports, which are killed and started again. ``within`` is a command that runs another."""

    environ: dict[str, str]
    within: tuple[str, ...]
    log: Path
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(FRONTENDS)])
    _pids: dict[int, int] = field(default_factory=dict)

    async def __aenter__(self) -> "Fleet":
        command = (*self.within, sys.executable, "-m", "tests.faults.storm.forks")
        pipe = asyncio.subprocess.PIPE
        with self.log.open("wb") as log:
            self._forks = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=log, start_new_session=True
            )
        self._said = asyncio.create_task(self._listen())
        self._forked, self._serving = asyncio.Queue[int](), set[int]()
        async with asyncio.timeout(_LONGEST_SECONDS):
            await asyncio.gather(*map(self.start, self.ports))
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._forks.stdin is not None
        self._forks.stdin.close()
        await self._forks.wait()
        await self._said

    async def _listen(self) -> None:
        assert self._forks.stdout is not None
        async for line in self._forks.stdout:
            if line.startswith(b"http"):
                self._serving.add(int(line.rsplit(b":", 1)[1]))
            else:
                self._forked.put_nowait(int(line))

    async def start(self, port: int) -> None:
        """Start one until it answers, again and again as a supervisor does."""
        assert self._forks.stdin is not None
        self._serving.discard(port)
        environ = {**self.environ, **named(PORT=port, LOG_LEVEL="ERROR")}
        while port not in self._serving:
            self._forks.stdin.write(json.dumps(environ).encode() + b"\n")
            self._pids[port] = await self._forked.get()
            await self._until(lambda: port in self._serving or not self._lives(port))

    async def kill(self, port: int) -> None:
        os.kill(self._pids[port], signal.SIGKILL)
        await self._until(lambda: not self._lives(port))

    async def stop(self) -> None:
        """As an operator does: everything is settled."""
        for pid in self._pids.values():
            os.kill(pid, signal.SIGTERM)
        await self._until(lambda: not any(map(self._lives, self.ports)))

    def _lives(self, port: int) -> bool:
        return Path(f"/proc/{self._pids[port]}").exists()

    @staticmethod
    async def _until(condition: Callable[[], bool]) -> None:
        await until(condition, _LONGEST_SECONDS)


@dataclass(frozen=True)
class Delivered:
    """An answer that a client has whole: the id of its request, what it must cost, whether a wallet pays, and when."""

    request_id: str
    amount: int
    prepaid: bool
    at: float


def _request(number: int) -> tuple[str, dict[str, object], int]:
    """Path, body and what a token costs; answers of all sizes."""
    if number % 3:
        return "/v1/embeddings", {"input": ["word " * (1 + number % 40)] * (1 + number % 32)}, EMBEDDING
    return "/v1/rerank", {"query": "who", "documents": ["word " * (1 + number % 50)] * (1 + number % 8)}, RANKING


class Clients:
    """Callers who go on until they have ``requests`` answers and are told to stop. Those of the first key prepay."""

    def __init__(self, fleet: Fleet, keys: tuple[str, str], requests: int) -> None:
        self._fleet, self._keys, self._requests = fleet, keys, requests
        self._begun = 0
        self.may_stop = False
        self.delivered: list[Delivered] = []
        self.failed: Counter[str] = Counter()

    async def run(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            await asyncio.gather(*(self._call_on(session, caller % 2 == 0) for caller in range(_CALLERS)))

    async def _call_on(self, session: aiohttp.ClientSession, prepaid: bool) -> None:
        while self._begun < self._requests or not self.may_stop:
            self._begun += 1
            number = self._begun
            while not await self._call(session, number, prepaid):  # noqa: ASYNC110 - each turn is a call
                await asyncio.sleep(_RETRY_SECONDS)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _call(self, session: aiohttp.ClientSession, number: int, prepaid: bool) -> bool:
        path, body, price = _request(number)
        headers = bearer(self._keys[not prepaid]) | {"X-Request-Id": f"storm-{number}"}
        url = f"http://127.0.0.1:{random.choice(self._fleet.ports)}{path}"
        try:
            async with session.post(url, json=body, headers=headers) as response:
                answer = await response.json()
        except _FAILURES as error:
            self.failed[type(error).__name__] += 1
            return False
        if response.status != 200:
            self.failed[f"{response.status} {answer['error']['message']}"] += 1
            return False
        tokens = answer["usage"]["total_tokens"]
        self.delivered.append(Delivered(response.headers["X-Request-Id"], tokens * price, prepaid, time.monotonic()))
        return True
