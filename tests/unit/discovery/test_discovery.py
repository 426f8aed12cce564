"""New Tritons of a pool get calls, removed ones get none, and failed lookups change nothing."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from frontend.config.pools import PoolSetting, Tls
from frontend.discovery.discovery import Discovery
from frontend.discovery.resolver import Resolver, Unresolved
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import State
from tests.eventually import until
from tests.unit.dispatch.servers import FakeTriton

POOL = PoolSetting("text", ("text.pool:8001",))


class FakeResolver(Resolver):
    """``names`` are addresses by host. Others cannot be resolved."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {"text.pool": ["10.0.0.1"]}

    async def addresses(self, host: str) -> list[str]:
        if host not in self.names:
            raise Unresolved("no server answers")
        return self.names[host]


class Scene:
    """A discovery that looks when a test says so, and its Tritons by address."""

    def __init__(self, pool: PoolSetting, zone: str = "") -> None:
        self.resolver, self.tritons = FakeResolver(), dict[str, FakeTriton]()
        self.tls: list[Tls] = []
        self.certificates = True
        self.dispatcher = Dispatcher(Rules(), Bounds(), FixedFrontends(1), zone=zone)
        self.discovery = Discovery(pool, {"embedder": 2}, self.dispatcher, self.resolver, self._connect, 1000.0)

    def _connect(self, address: str, *tls: Tls) -> FakeTriton:
        if not self.certificates:
            raise FileNotFoundError("no certificate")
        self.tls += tls
        self.tritons[address] = FakeTriton(address)
        return self.tritons[address]

    async def call(self) -> str:
        context = RequestContext("key", 3, None, asyncio.get_running_loop().time() + 10)
        return str((await self.dispatcher.infer("embedder", dict, ["out"], context))["out"][0])

    async def answering(self) -> set[str]:
        """The Tritons that answer simultaneous calls, after their trials."""
        await asyncio.sleep(0)
        await until(lambda: self.dispatcher.states(["embedder"])["embedder"] is State.READY)
        return set(await asyncio.gather(*(self.call() for _ in range(8))))

    async def look(self, *addresses: str) -> None:
        """Look when the name has these addresses."""
        self.resolver.names["text.pool"] = list(addresses)
        await self.discovery.refresh()

    async def close(self) -> None:
        await self.discovery.close()
        await self.dispatcher.close()


@pytest.fixture
async def found() -> AsyncIterator[Scene]:
    made = Scene(POOL)
    await made.discovery.start()
    yield made
    await made.close()


async def test_each_address_of_a_name_is_a_triton(found: Scene) -> None:
    await found.look("10.0.0.1", "fd00::2")
    await until(lambda: "[fd00::2]:8001" in found.tritons)
    assert await found.answering() == {"10.0.0.1:8001", "[fd00::2]:8001"}


async def test_a_removed_triton_gets_no_calls_and_is_closed(found: Scene) -> None:
    await found.look("10.0.0.2")
    assert await found.answering() == {"10.0.0.2:8001"}
    await until(lambda: found.tritons["10.0.0.1:8001"].closed)
    assert not found.tritons["10.0.0.2:8001"].closed


async def test_the_calls_of_a_removed_triton_end_before_it_is_closed(found: Scene) -> None:
    leaving = found.tritons["10.0.0.1:8001"]
    leaving.going.clear()
    call = asyncio.create_task(found.call())
    await until(lambda: leaving.calls)
    await found.look("10.0.0.2")
    assert await found.answering() == {"10.0.0.2:8001"}
    assert not leaving.closed
    leaving.going.set()
    assert await call == "10.0.0.1:8001"
    await until(lambda: leaving.closed)


async def test_a_triton_that_comes_back_while_its_calls_end_is_used_at_once(found: Scene) -> None:
    leaving = found.tritons["10.0.0.1:8001"]
    leaving.going.clear()
    call = asyncio.create_task(found.call())
    await until(lambda: leaving.calls)
    await found.look("10.0.0.2")
    await found.look("10.0.0.1")
    assert found.tritons["10.0.0.1:8001"] is not leaving
    await found.call()
    leaving.going.set()
    await call
    await until(lambda: leaving.closed)
    assert await found.answering() == {"10.0.0.1:8001"}


async def test_a_removed_triton_is_not_in_the_metrics_of_its_pool(found: Scene) -> None:
    def bound() -> float | None:
        return REGISTRY.get_sample_value("quartet_in_flight_bound", {"pool": "text", "model": "embedder"})

    before = bound()
    found.resolver.names["text.pool"] = []
    for _ in range(3):
        await found.discovery.refresh()
    await until(lambda: found.tritons["10.0.0.1:8001"].closed)
    assert before is not None
    assert bound() == before - 2


async def test_a_name_keeps_its_addresses_while_lookups_fail(found: Scene) -> None:
    del found.resolver.names["text.pool"]
    for _ in range(5):
        await found.discovery.refresh()
    assert await found.answering() == {"10.0.0.1:8001"}


@pytest.mark.parametrize(("back", "logged"), [(False, 1), (True, 2)], ids=["in a row", "with an answer between them"])
async def test_failed_lookups_are_logged_once_until_one_succeeds(
    found: Scene, caplog: pytest.LogCaptureFixture, back: bool, logged: int
) -> None:
    addresses = found.resolver.names.pop("text.pool")
    await found.discovery.refresh()
    if back:
        found.resolver.names["text.pool"] = addresses
        await found.discovery.refresh()
        del found.resolver.names["text.pool"]
    await found.discovery.refresh()
    sources = [record.fields["source"] for record in caplog.records if hasattr(record, "fields")]
    assert sources.count("text.pool") == logged


async def test_an_empty_answer_counts_the_third_time(found: Scene) -> None:
    found.resolver.names["text.pool"] = []
    for state in (State.READY, State.READY, State.AWAY):
        await found.discovery.refresh()
        await asyncio.sleep(0)
        assert found.dispatcher.states(["embedder"]) == {"embedder": state}


async def test_a_file_is_read_again_and_an_invalid_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "text.pool"
    file.write_text("10.0.0.1:8001\n", encoding="utf-8")
    made = Scene(replace(POOL, address=(), file=file))
    made.resolver.names = {f"10.0.0.{number}": [f"10.0.0.{number}"] for number in (1, 2)}
    await made.discovery.start()
    for text, answering in (("10.0.0.2:8001", "10.0.0.2:8001"), ("10.0.0.1", "10.0.0.2:8001")):
        file.write_text(text, encoding="utf-8")
        await made.discovery.refresh()
        assert await made.answering() == {answering}
    await made.close()


async def test_a_triton_of_the_own_zone_is_preferred_while_it_has_room() -> None:
    made = Scene(PoolSetting("text", ("near:1 a", "far:1")), zone="a")
    made.resolver.names = {"near": ["10.0.0.1"], "far": ["10.0.0.2"]}
    await made.discovery.start()
    for triton in made.tritons.values():
        triton.going.clear()
    calls = [asyncio.create_task(made.call()) for _ in range(3)]
    await until(lambda: [made.tritons[f"10.0.0.{number}:1"].calls for number in (1, 2)] == [2, 1])
    for triton in made.tritons.values():
        triton.going.set()
    await asyncio.gather(*calls)
    await made.close()


async def test_a_missing_certificate_is_read_again(found: Scene) -> None:
    found.certificates = False
    await found.look("10.0.0.1", "10.0.0.2")
    assert await found.answering() == {"10.0.0.1:8001"}
    found.certificates = True
    await found.discovery.refresh()
    await until(lambda: "10.0.0.2:8001" in found.tritons)
    assert await found.answering() == {"10.0.0.1:8001", "10.0.0.2:8001"}


async def test_a_pool_with_tls_passes_the_name_for_the_certificate(tmp_path: Path) -> None:
    made = Scene(replace(POOL, ca=tmp_path / "ca"))
    await made.discovery.start()
    assert [tls.name for tls in made.tls] == ["text.pool"]
    await made.close()
