"""Locks that keep frontends apart, in a real Redis."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from frontend.dispatch import locks
from frontend.dispatch.locks import LocalLocks, SharedLocks
from tests.redis import RedisServer


@pytest.fixture
async def pair(redis_server: RedisServer) -> AsyncIterator[tuple[SharedLocks, SharedLocks]]:
    made = SharedLocks(redis_server.url), SharedLocks(redis_server.url)
    yield made
    for each in made:
        await each.close()


async def test_what_one_frontend_holds_another_does_not_get(pair: tuple[SharedLocks, SharedLocks]) -> None:
    first, second = pair
    async with first.hold("whisper") as mine, second.hold("whisper") as others, second.hold("embedder") as another:
        assert (mine, others, another) == (True, False, True)
    async with second.hold("whisper") as mine:
        assert mine


async def test_a_lock_is_kept_for_as_long_as_its_holder_lives(
    pair: tuple[SharedLocks, SharedLocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_LEASE_SECONDS", 1.5)
    first, second = pair
    async with first.hold("whisper"):
        await asyncio.sleep(3)
        async with second.hold("whisper") as others:
            assert not others


async def test_the_lock_of_a_holder_that_was_killed_expires(
    pair: tuple[SharedLocks, SharedLocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_LEASE_SECONDS", 0.5)
    first, second = pair
    # As a process that was killed leaves it: nothing prolongs it and nothing gives it back.
    assert await first._redis.lock("quartet:lock:whisper", timeout=0.5).acquire(blocking=False)
    async with asyncio.timeout(10):
        mine = False
        while not mine:
            async with second.hold("whisper") as mine:
                pass


async def test_without_redis_each_one_may(pair: tuple[SharedLocks, SharedLocks], redis_server: RedisServer) -> None:
    redis_server.kill()
    try:
        async with pair[0].hold("whisper") as mine, pair[1].hold("whisper") as others:
            assert (mine, others) == (True, True)
    finally:
        redis_server.start()


async def test_alone_a_frontend_may_at_once() -> None:
    async with asyncio.timeout(1), LocalLocks().hold("whisper") as mine:
        assert mine
