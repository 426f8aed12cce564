"""Locks between frontends in a real Redis."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from frontend.peers import frontends as alone
from frontend.peers.frontends import FixedFrontends
from frontend.sharing import frontends as module
from frontend.sharing.frontends import SharedFrontends
from tests.redis import RedisServer


def _frontend(redis_server: RedisServer) -> SharedFrontends:
    return SharedFrontends(redis_server.url, lambda: {}, lambda: None)


@pytest.fixture
async def pair(redis_server: RedisServer) -> AsyncIterator[tuple[SharedFrontends, SharedFrontends]]:
    made = _frontend(redis_server), _frontend(redis_server)
    yield made
    for each in made:
        await each.close()


async def test_a_lock_has_one_holder(pair: tuple[SharedFrontends, SharedFrontends]) -> None:
    first, second = pair
    async with first.lock("whisper") as mine, second.lock("whisper") as others, second.lock("embedder") as another:
        assert (mine, others, another) == (True, False, True)
    async with second.lock("whisper") as mine:
        assert mine


async def test_a_lock_lasts_as_long_as_its_holder_lives(
    pair: tuple[SharedFrontends, SharedFrontends], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LEASE_SECONDS", 0.9)
    first, second = pair
    async with first.lock("whisper"):
        await asyncio.sleep(1.8)
        async with second.lock("whisper") as others:
            assert not others


async def test_the_lock_of_a_killed_holder_expires(
    pair: tuple[SharedFrontends, SharedFrontends], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LEASE_SECONDS", 0.5)
    first, second = pair
    # A killed process neither prolongs nor releases it.
    assert await first.redis.lock("quartet:lock:whisper", timeout=0.5).acquire(blocking=False)
    async with asyncio.timeout(10):
        mine = False
        while not mine:
            async with second.lock("whisper") as mine:
                pass


@pytest.mark.parametrize("met", [True, False], ids=["they had met", "they had not"])
async def test_without_redis_every_frontend_gets_the_lock_one_after_the_other(
    pair: tuple[SharedFrontends, SharedFrontends],
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    met: bool,
) -> None:
    monkeypatch.setattr(module, "_TURN_SECONDS", 0.5)
    monkeypatch.setattr("random.random", iter((0.0, 0.9)).__next__)
    for frontend in [*pair, *pair] if met else []:
        await frontend.beat()
    redis_server.kill()
    loop, times = asyncio.get_running_loop(), list[float]()

    async def take(frontend: SharedFrontends) -> None:
        async with frontend.lock("whisper") as mine:
            assert mine
            times.append(loop.time())

    try:
        await asyncio.gather(*map(take, pair))
    finally:
        redis_server.start()
    assert 0.3 < times[1] - times[0] < 3


async def test_frontends_without_redis_get_the_lock_and_several_wait_before(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("frontend.peers.frontends.asyncio.sleep", sleep)
    for count in (1, 2):
        async with FixedFrontends(count).lock("whisper") as mine:
            assert mine
    assert len(pauses) == 1
    assert 0 <= pauses[0] <= alone._STAGGER_SECONDS
