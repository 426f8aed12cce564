"""Reloads of dead models: repeated after failures, and by one frontend at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from frontend.errors import BadGateway, Unreached
from frontend.peers.frontends import FixedFrontends
from frontend.processes.pauses import Pauses
from frontend.tritons import reloads
from frontend.tritons.reloads import Reloads
from tests.eventually import until
from tests.samples import Change
from tests.unit.tritons.servers import FakeServer


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


def _dead(*failures: BadGateway) -> FakeServer:
    """A server with a dead model whose next loads fail."""
    server = FakeServer()
    server.dead, server.failures = {"whisper"}, list(failures)
    server.may_reload.set()
    return server


async def _reload(server: FakeServer) -> None:
    """Reload the model, and wait until that is over."""
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    await until(lambda: "whisper" not in running)


async def test_a_failed_load_is_counted_and_repeated_after_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []

    class Noted(Pauses):
        def next(self, now: float) -> float:
            pauses.append(super().next(now))
            return 0.0

    monkeypatch.setattr(reloads, "Pauses", Noted)
    failed, loaded = (Change("quartet_model_reloads_total", pool="a", outcome=name) for name in ("failed", "loaded"))
    server = _dead(*(BadGateway("no memory") for _ in range(3)))
    await _reload(server)
    assert (len(server.reloaded), server.dead) == (4, set())
    assert (failed.by, loaded.by) == (3, 1)
    assert pauses == [0, 1, 2, 4]


async def test_frontends_with_a_common_lock_reload_a_model_once() -> None:
    server, lock = _dead(), OneLock()
    server.may_reload.clear()
    running = [Reloads("a", server, lock) for _ in range(4)]
    for each in running:
        each.begin("whisper")
    await asyncio.sleep(0.1)
    assert all("whisper" in each for each in running)
    server.may_reload.set()
    await until(lambda: not any("whisper" in each for each in running))
    assert server.reloaded == ["whisper"]


async def test_a_working_model_is_not_reloaded() -> None:
    server = _dead()
    server.dead.clear()
    await _reload(server)
    assert server.reloaded == []


async def test_a_reload_ends_when_the_server_goes_away() -> None:
    server = _dead(Unreached("away"))
    await _reload(server)
    assert server.reloaded == ["whisper"]


async def test_a_reload_is_finished_when_the_frontend_ends() -> None:
    server = _dead()
    server.may_reload.clear()
    running = Reloads("a", server, FixedFrontends(1).lock)
    running.begin("whisper")
    asyncio.get_running_loop().call_later(0.1, server.may_reload.set)
    await running.close()
    assert not server.dead
