"""Tritons that come and go behind one DNS name, under load: ``python -m tests.faults.pools [rounds]``.

A frontend in a process of its own asks a real DNS server once a second. In each round a Triton comes, is in the name
when it is ready, and gets calls; another is taken out of the name and told to stop, at the same moment or later.
"""

import asyncio
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from scripts.local_triton.checks import free_port
from tests.conftest import KEY, bearer
from tests.eventually import until
from tests.faults.callers import Load
from tests.faults.served import FRONTEND, Served
from tests.frontends import prepare
from tests.names import DnsServer, dns_server
from tests.tritons import GrpcTriton

_NAME = "triton.pool"
_CALLERS = 8
_CALL_SECONDS = 0.02
# Longer than the frontend needs to see that one has gone.
_LIVES_ON = 3.0


@dataclass
class Outcome:
    """How 200 calls were divided among two; and in seconds how soon each new one had its first call after it was ready,
    and for how long each that went had calls after it was taken out of the name.
    """

    split: tuple[int, int] = (0, 0)
    first_calls: list[float] = field(default_factory=list)
    last_calls: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def faults(self) -> list[str]:
        """Whatever is not as it must be."""
        checks = {
            f"a split of {self.split}": min(self.split) >= 90,
            f"first calls after {self.first_calls} s": max(self.first_calls) < 2,
            f"calls for {max(self.last_calls)} s to one that had gone": max(self.last_calls) < 2,
            f"answers {self.statuses}": self.statuses.keys() == {200},
        }
        return [fault for fault, holds in checks.items() if not holds]


class Pool:
    """A DNS name and its Tritons, all on one ``port``."""

    def __init__(self, dns: DnsServer, port: int) -> None:
        self._dns, self._port = dns, port
        self._tritons: list[GrpcTriton] = []
        self._spare = [f"127.0.0.{number}" for number in range(2, 100)]
        self.outcome = Outcome()

    async def come(self) -> GrpcTriton:
        triton = GrpcTriton(self._spare.pop(0), self._port, _CALL_SECONDS)
        await triton.start()
        self._tritons.append(triton)
        self._tell()
        return triton

    async def come_and_serve(self) -> None:
        """The time until the first call counts from when it is ready and in the name."""
        triton = await self.come()
        ready = asyncio.get_running_loop().time()
        await until(lambda: triton.service.calls)
        self.outcome.first_calls.append(triton.service.calls[0] - ready)

    async def go(self, lives_on: float) -> None:
        """The one that was there first leaves the name, and is stopped so much later."""
        triton = self._tritons.pop(0)
        self._tell()
        gone = asyncio.get_running_loop().time()
        await asyncio.sleep(lives_on)
        await triton.stop()
        self.outcome.last_calls.append(max(triton.service.calls) - gone)

    def _tell(self) -> None:
        self._dns.names[_NAME] = [triton.host for triton in self._tritons]

    async def split(self, load: Load, calls: int) -> None:
        """One call after another over two Tritons."""
        before = [len(triton.service.calls) for triton in self._tritons]
        for _ in range(calls):
            await load.ask()
        first, second = (len(triton.service.calls) - had for triton, had in zip(self._tritons, before, strict=True))
        self.outcome.split = first, second

    async def stop(self) -> None:
        for triton in self._tritons:
            await triton.stop()


async def come_and_go(folder: Path, rounds: int) -> Outcome:
    """200 calls over two Tritons; then in each round one comes and one goes, while callers ask."""
    async with dns_server() as (dns, address), aiohttp.ClientSession(headers=bearer(KEY)) as session:
        port = free_port()
        own = {"TRITON": f"{_NAME}:{port}", "DNS": address, "MODELS": "embed-m3"}
        environ = await asyncio.to_thread(prepare, folder, **own)
        frontend = Served(environ, folder / "log", FRONTEND)
        pool, load = Pool(dns, port), Load(session, frontend.url, "a")
        await pool.come()
        await pool.come()
        try:
            await frontend.start()
            await pool.split(load, 200)
            load.start(_CALLERS)
            for number in range(rounds):
                await pool.come_and_serve()
                await pool.go(_LIVES_ON if number % 2 else 0.0)
            await load.stop()
        finally:
            await frontend.stop()
        await pool.stop()
    pool.outcome.statuses = Counter(answer.status for answer in load.answers)
    return pool.outcome


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        outcome = asyncio.run(come_and_go(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else 20))
    print(f"200 calls over two Tritons: {outcome.split}; answers by status: {outcome.statuses}")
    print(f"first call after readiness: at most {max(outcome.first_calls):.2f} s of {len(outcome.first_calls)}")
    print(f"last call after the name was without it: {max(outcome.last_calls):.2f} s at most")
    sys.exit("\n".join(outcome.faults) or None)
