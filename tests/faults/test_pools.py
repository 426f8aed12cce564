"""Tritons that come and go behind one DNS name, which the frontend asks a real DNS server for once a second."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from scripts.local_triton.checks import free_port
from tests.conftest import KEY, bearer
from tests.eventually import until
from tests.faults.callers import Load
from tests.faults.served import FRONTEND, Served
from tests.frontends import prepare
from tests.names import DnsServer, dns_server
from tests.tritons import GrpcTriton

# A Triton that answers two probes late is out; while other tests run, a small machine is late at times.
pytestmark = pytest.mark.alone

_NAME = "triton.pool"
_CALLERS = 8
_CALL_SECONDS = 0.02
# Longer than the frontend needs to see that one has gone.
_LIVES_ON = 3.0


class Pool:
    """A DNS name and its Tritons, all on one ``port``."""

    def __init__(self, dns: DnsServer, port: int) -> None:
        self._dns, self._port = dns, port
        self._tritons: list[GrpcTriton] = []
        self._spare = [f"127.0.0.{number}" for number in range(2, 100)]

    async def come(self) -> GrpcTriton:
        triton = GrpcTriton(self._spare.pop(0), self._port, _CALL_SECONDS)
        await triton.start()
        self._tritons.append(triton)
        self._publish()
        return triton

    async def come_and_serve(self) -> float:
        """The seconds from when a new Triton is ready and in the name until its first call."""
        triton = await self.come()
        ready = asyncio.get_running_loop().time()
        await until(lambda: triton.service.calls)
        return triton.service.calls[0] - ready

    async def go(self, lives_on: float) -> float:
        """Take the oldest Triton out of the name and stop it later; the seconds until its last call."""
        triton = self._tritons.pop(0)
        self._publish()
        gone = asyncio.get_running_loop().time()
        await asyncio.sleep(lives_on)
        await triton.stop()
        return max(triton.service.calls) - gone

    def _publish(self) -> None:
        self._dns.names[_NAME] = [triton.host for triton in self._tritons]

    async def split(self, load: Load, calls: int) -> tuple[int, int]:
        """How one call after another is divided among two Tritons."""
        before = [len(triton.service.calls) for triton in self._tritons]
        for _ in range(calls):
            await load.ask()
        first, second = (len(triton.service.calls) - had for triton, had in zip(self._tritons, before, strict=True))
        return first, second

    async def stop(self) -> None:
        for triton in self._tritons:
            await triton.stop()


async def test_tritons_come_and_go_and_no_request_is_lost(tmp_path: Path) -> None:
    async with dns_server() as (dns, address), aiohttp.ClientSession(headers=bearer(KEY)) as session:
        port = free_port()
        own = {"TRITON": f"{_NAME}:{port}", "DNS": address, "MODELS": "embed-m3", "STOP_DELAY_SECONDS": 0}
        environ = await asyncio.to_thread(prepare, tmp_path, **own)
        frontend = Served(environ, tmp_path / "log", FRONTEND)
        pool, load = Pool(dns, port), Load(session, frontend.url, "a")
        await pool.come()
        await pool.come()
        try:
            await frontend.start()
            assert min(await pool.split(load, 60)) >= 27
            load.start(_CALLERS)
            for lives_on in (0.0, _LIVES_ON):
                assert await pool.come_and_serve() < 2
                assert await pool.go(lives_on) < 2
            await load.stop()
        finally:
            await frontend.stop()
        await pool.stop()
    assert {(answer.status, answer.error) for answer in load.answers} == {(200, "")}
