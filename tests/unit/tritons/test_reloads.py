"""Dead models are loaded anew: again where that fails, and by one frontend at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from prometheus_client import REGISTRY

from frontend.errors import BadGateway, Unreached
from frontend.peers.frontends import FixedFrontends
from frontend.processes.pauses import Pauses
from frontend.tritons import reloads
from frontend.tritons.reloads import Reloads
from tests.eventually import until


class FakeServer:
    """Has one model, which is dead; its next loads fail as ``failures`` say."""

    def __init__(self, *failures: BadGateway) -> None:
        self.dead = True
        self.loads = 0
        self._failures = list(failures)
        self.going = asyncio.Event()
        self.going.set()

    async def ailing(self, models: Sequence[str]) -> set[str]:
        return set(models) if self.dead else set()

    async def reload(self, model: str) -> None:
        self.loads += 1
        await self.going.wait()
        if self._failures:
            raise self._failures.pop(0)
        self.dead = False


class OneLock:
    """A lock that frontends share."""

    def __init__(self) -> None:
        self.held = False

    @asynccontextmanager
    async def __call__(self, name: str) -> AsyncIterator[bool]:
        if self.held:
            yield False
            return
        self.held = True
        yield True
        self.held = False


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloads, "_LOOK_SECONDS", 0.01)


async def _over(*running: Reloads) -> None:
    await until(lambda: not any("whisper" in each for each in running))


async def test_a_load_that_failed_is_tried_again_after_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    class Noted(Pauses):
        def next(self, now: float) -> float:
            pauses.append(super().next(now))
            return 0.0

    monkeypatch.setattr(reloads, "Pauses", Noted)
    server = FakeServer(*(BadGateway("no memory") for _ in range(3)))
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    await _over(running)
    assert (server.loads, server.dead) == (4, False)
    assert pauses == [0, 1, 2, 4]


async def test_frontends_that_share_a_lock_load_a_model_once() -> None:
    server, lock = FakeServer(), OneLock()
    server.going.clear()
    running = [Reloads("a", server, lock) for _ in range(4)]
    for each in running:
        each.begin("whisper")
    await asyncio.sleep(0.1)
    assert all("whisper" in each for each in running)
    server.going.set()
    await _over(*running)
    assert server.loads == 1


async def test_a_model_that_is_well_is_not_loaded() -> None:
    server = FakeServer()
    server.dead = False
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    await _over(running)
    assert server.loads == 0


async def test_a_server_that_went_away_loads_its_models_itself() -> None:
    server = FakeServer(Unreached("away"))
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    await _over(running)
    assert server.loads == 1


async def test_a_load_that_has_begun_is_finished_when_the_frontend_ends() -> None:
    server = FakeServer()
    server.going.clear()
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    asyncio.get_running_loop().call_later(0.1, server.going.set)
    await running.close()
    assert not server.dead


async def test_loads_are_counted_by_what_came_of_them() -> None:
    def count(outcome: str) -> float:
        labels = {"pool": "counted", "model": "whisper", "outcome": outcome}
        return REGISTRY.get_sample_value("quartet_model_reloads_total", labels) or 0.0

    running = Reloads("counted", FakeServer(BadGateway("no memory")), FixedFrontends(1).lock)
    running.begin("whisper")
    await _over(running)
    assert (count("failed"), count("loaded")) == (1, 1)
