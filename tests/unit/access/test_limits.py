"""Limits by caller, and limits during an outage of Redis."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

from frontend.access.caller import Caller
from frontend.access.counters import MemoryCounters
from frontend.access.limits import Limiter
from frontend.catalogue.endpoints import LIMITS
from frontend.errors import BadGateway, RateLimited
from frontend.observe.metrics import LIMITER_DEGRADED
from tests.clocks import LimitsClock
from tests.eventually import until
from tests.redis import RedisServer
from tests.unit.access.counting import limit_of, passed, shared


@pytest.fixture(autouse=True)
def clock(limits_clock: LimitsClock) -> LimitsClock:
    return limits_clock


async def test_a_redis_that_is_killed_is_taken_up_again(own_redis: RedisServer) -> None:
    async with shared(own_redis.url) as counters:
        own_redis.kill()
        assert (await counters.take([limit_of(3, "a")]))[0]
        assert LIMITER_DEGRADED._value.get() == 1
        own_redis.start()
        await until(lambda: LIMITER_DEGRADED._value.get() == 0)
        assert (await counters.take([limit_of(3, "a")]))[1][0].current == 1


async def test_without_redis_each_frontend_counts_its_share(own_redis: RedisServer) -> None:
    async with shared(own_redis.url) as first, shared(own_redis.url) as second, shared(own_redis.url) as third:
        await until(lambda: all(counters._frontends.count == 3 for counters in (first, second, third)))
        own_redis.kill()
        assert await passed([first, second, third], [limit_of(30, "a")], 300) == 30


async def test_without_redis_a_batch_of_more_than_a_share_passes_in_an_empty_window(own_redis: RedisServer) -> None:
    async with shared(own_redis.url) as first, shared(own_redis.url):
        await until(lambda: first._frontends.count == 2)
        own_redis.kill()
        limiter = Limiter(first, {"embeddings": 120}, {})
        await _take_batch(limiter, 63)
        with pytest.raises(RateLimited):
            await _take_batch(limiter, 63)
        with pytest.raises(RateLimited):
            await limiter.take(Caller("a", "a"), "embeddings")


async def test_without_redis_requests_can_be_refused(own_redis: RedisServer) -> None:
    async with shared(own_redis.url, refuse=True) as counters:
        own_redis.kill()
        with pytest.raises(BadGateway):
            await counters.take([limit_of(30, "a")])
        assert (await Limiter(counters, LIMITS, {}).usage(Caller("a", "a")))["embeddings"].remaining == 120


async def test_redis_may_be_away_at_the_start() -> None:
    async with shared("redis://127.0.0.1:1/0") as counters:
        assert await passed([counters], [limit_of(3, "a")], 10) == 3


@pytest.mark.parametrize(
    ("refusing", "taking"),
    [("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"), ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0")],
    ids=["a replica", "a full one"],
)
async def test_a_redis_that_takes_no_counts_is_one_that_is_away(
    own_redis: RedisServer, refusing: str, taking: str
) -> None:
    redis: Any = Redis.from_url(own_redis.url)
    async with shared(own_redis.url) as counters, redis:
        await redis.execute_command(*refusing.split())
        assert await passed([counters], [limit_of(3, "a")], 10) == 3
        assert LIMITER_DEGRADED._value.get() == 1
        await redis.execute_command(*taking.split())
        await until(lambda: LIMITER_DEGRADED._value.get() == 0)


async def test_a_share_is_at_least_one_request(own_redis: RedisServer) -> None:
    async with shared(own_redis.url) as counters:
        own_redis.kill()
        counters._frontends._snapshots = dict.fromkeys("abc", {})
        assert await passed([counters], [limit_of(2, "a")], 10) == 1


TIERS = {"pro": {"embeddings": 500}}


@pytest.mark.parametrize(
    ("caller", "limit"),
    [
        (Caller("a", "a"), 120),
        (Caller("a", "a", tier="pro"), 500),
        (Caller("a", "a", tier="pro", limits={"embeddings": 7}), 7),
        (Caller("a", "a", org="o", org_limit=50), 50),
        (Caller("a", "a", org="o"), 120),
    ],
)
async def test_the_nearest_limit_is_told(caller: Caller, limit: int) -> None:
    headers = await Limiter(MemoryCounters(), LIMITS, TIERS).take(caller, "embeddings")
    assert headers["X-RateLimit-Limit"] == str(limit)
    assert headers["X-RateLimit-Remaining"] == str(limit - 1)


async def test_an_organisation_shares_its_limit_between_keys() -> None:
    limiter = Limiter(MemoryCounters(), LIMITS, {})
    await limiter.take(Caller("a", "a", org="o", org_limit=1), "embeddings")
    with pytest.raises(RateLimited, match=r"rate limit exceeded \(1/min\)"):
        await limiter.take(Caller("b", "b", org="o", org_limit=1), "rerank")


async def test_of_several_reached_limits_the_longest_wait_counts(clock: LimitsClock) -> None:
    # Ten seconds before the end of a minute.
    clock.move_to(110.0)
    limiter, other = Limiter(MemoryCounters(), LIMITS, {}), Caller("b", "b", org="o", org_limit=10)
    for _ in range(4):
        await limiter.take(other, "embeddings")
    own = Caller("a", "a", org="o", org_limit=10, limits={"embeddings": 1})
    await limiter.take(own, "embeddings")
    with pytest.raises(RateLimited, match=r"\(2/min\)") as refused:
        await limiter.take(replace(own, org_limit=2), "embeddings")
    assert refused.value.headers["Retry-After"] == "47"


async def _take_batch(limiter: Limiter, more: int) -> Mapping[str, str]:
    """Count a batch as a request is counted: as one before its body is read, then as so many more."""
    await limiter.take(Caller("a", "a"), "embeddings")
    return await limiter.take_more(Caller("a", "a"), "embeddings", more)


async def test_a_batch_is_counted_as_several_and_waits_until_so_many_pass(clock: LimitsClock) -> None:
    # Ten seconds before the end of a minute.
    clock.move_to(110.0)
    limiter = Limiter(MemoryCounters(), {"embeddings": 10}, {})
    assert (await _take_batch(limiter, 5))["X-RateLimit-Remaining"] == "4"
    with pytest.raises(RateLimited, match=r"\(10/min\); this request counts as 6") as refused:
        await _take_batch(limiter, 5)
    # The refused one has counted as one.
    assert (refused.value.headers["X-RateLimit-Limit"], refused.value.headers["X-RateLimit-Remaining"]) == ("10", "3")
    clock.move_to(110.0 + int(refused.value.headers["Retry-After"]) - 1)
    usage = await limiter.usage(Caller("a", "a"))
    assert usage["embeddings"].remaining == 5
    clock.move_to(110.0 + int(refused.value.headers["Retry-After"]))
    await _take_batch(limiter, 5)


@pytest.mark.parametrize(("limit", "more"), [(120, 63), (120, 119), (30, 63), (1, 1)])
async def test_a_batch_that_waits_as_it_is_told_passes_soon(clock: LimitsClock, limit: int, more: int) -> None:
    limiter, now, waits = Limiter(MemoryCounters(), {"embeddings": limit}, {}), 100.0, list[int]()
    clock.move_to(now)
    await _take_batch(limiter, more)
    for _ in range(3):
        try:
            await _take_batch(limiter, more)
            break
        except RateLimited as refused:
            waits.append(int(refused.headers["Retry-After"]))
            now += waits[-1]
            clock.move_to(now)
    # A minute is the longest wait that is told.
    assert len(waits) < 3, waits


async def test_a_batch_of_more_than_the_limit_passes_in_an_empty_window_alone() -> None:
    limiter, caller = Limiter(MemoryCounters(), {"embeddings": 3}, {}), Caller("a", "a", org="o", org_limit=5)
    await limiter.take(caller, "embeddings")
    assert (await limiter.take_more(caller, "embeddings", 9))["X-RateLimit-Remaining"] == "0"
    for take in (limiter.take(caller, "embeddings"), limiter.take_more(caller, "embeddings", 9)):
        with pytest.raises(RateLimited):
            await take


async def test_endpoints_are_counted_apart() -> None:
    limiter = Limiter(MemoryCounters(), {"embeddings": 1, "rerank": 1}, {})
    await limiter.take(Caller("a", "a"), "embeddings")
    await limiter.take(Caller("a", "a"), "rerank")


async def _used(limiter: Limiter) -> dict[str, tuple[int, int]]:
    caller = Caller(uuid.uuid4().hex, "a", org=uuid.uuid4().hex, org_limit=50)
    for _ in range(3):
        await limiter.take(caller, "embeddings")
    await limiter.usage(caller)
    counts = await limiter.usage(caller)
    return {name: (count.limit, count.remaining) for name, count in counts.items()}


async def test_looking_at_limits_counts_nothing(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as in_redis:
        for counters in (MemoryCounters(), in_redis):
            used = await _used(Limiter(counters, LIMITS, {}))
            assert (used["embeddings"], used["speech"], used["organisation"]) == ((120, 117), (120, 120), (50, 47))


async def test_looking_at_limits_works_while_redis_is_away(own_redis: RedisServer) -> None:
    async with shared(own_redis.url) as counters:
        own_redis.kill()
        used = await _used(Limiter(counters, LIMITS, {}))
    assert used["embeddings"] == (120, 117)
