"""Limits over a real Redis: shared, atomic, and going on when it is killed or hangs."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from limits import RateLimitItemPerMinute

from frontend.access.caller import Caller
from frontend.access.counters import Limit, RedisCounters
from frontend.access.limits import Counters, Limiter, LocalCounters, SharedCounters
from frontend.config_tables import LIMITS
from frontend.errors import BadGateway, RateLimited
from frontend.observe import LIMITER_DEGRADED
from tests.redis import RedisServer


def _limit(number: int, owner: str, name: str = "embeddings") -> Limit:
    return RateLimitItemPerMinute(number), (name, owner)


async def _away_from_the_minute() -> None:
    """A minute that turns in the middle of a test would open the window by one request."""
    if (rest := 60 - time.time() % 60) < 3:
        await asyncio.sleep(rest + 0.1)


@asynccontextmanager
async def _shared(server: RedisServer, *, refuse: bool = False) -> AsyncIterator[SharedCounters]:
    counters = SharedCounters(server.url, refuse=refuse)
    await counters.start()
    try:
        yield counters
    finally:
        await counters.close()


async def _passed(counters: list[Counters], limits: list[Limit], requests: int) -> int:
    await _away_from_the_minute()
    calls = (counters[number % len(counters)].take(limits) for number in range(requests))
    return sum([taken for taken, _ in await asyncio.gather(*calls)])


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_exactly_the_limit_passes_in_memory(limit: int) -> None:
    assert await _passed([LocalCounters()], [_limit(limit, "a")], 10 * limit) == limit


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_exactly_the_limit_passes_over_three_frontends(redis_server: RedisServer, limit: int) -> None:
    async with _shared(redis_server) as first, _shared(redis_server) as second, _shared(redis_server) as third:
        limits = [_limit(limit, uuid.uuid4().hex)]
        assert await _passed([first, second, third], limits, 10 * limit) == limit


async def test_a_request_counts_in_redis_under_all_limits_or_under_none(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with _shared(redis_server) as counters:
        both = [_limit(5, owner), _limit(2, owner, "org")]
        assert await _passed([counters], both, 10) == 2
        assert (await counters.take([_limit(5, owner)]))[1][0].current == 3


async def test_counts_in_redis_expire(redis_server: RedisServer) -> None:
    async with _shared(redis_server) as counters:
        await counters.take([_limit(5, "expires")])
        redis = counters._shared.redis
        assert 60 < await redis.ttl("quartet:{expires}:embeddings:expires") <= 130


class _Pipeline:
    """What a Redis, or a proxy before it, may answer to one call."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    async def __aenter__(self) -> "_Pipeline":
        return self

    async def __aexit__(self, *error: object) -> None:
        return

    def eval(self, *arguments: object) -> None:
        return

    async def execute(self) -> Any:
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


@pytest.mark.parametrize(
    "outcome",
    [[], [[]], [None], [[1, 5]], [[1, 5, "x", None]], ValueError("no"), AssertionError(), asyncio.CancelledError()],
    ids=repr,
)
async def test_whatever_redis_answers_nobody_is_left_waiting(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    counters = RedisCounters(redis_server.url)
    limits = [_limit(5, uuid.uuid4().hex), _limit(5, uuid.uuid4().hex)]
    with monkeypatch.context() as patched:
        patched.setattr(counters.redis, "pipeline", lambda **options: _Pipeline(outcome))
        async with asyncio.timeout(10):
            told = await asyncio.gather(*(counters.take(limits) for _ in range(3)), return_exceptions=True)
    assert [isinstance(each, Exception) for each in told] == [True] * 3
    async with asyncio.timeout(10):
        assert (await counters.take(limits))[0]
    await counters.close()


@pytest.fixture
async def own_redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("own"))
    server.start()
    yield server
    server.kill()


async def _timed(counters: SharedCounters, limits: list[Limit]) -> float:
    started = time.perf_counter()
    await counters.take(limits)
    return time.perf_counter() - started


async def test_a_redis_that_hangs_costs_a_quarter_second_once(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with _shared(own_redis) as counters:
        own_redis.freeze()
        times = [await _timed(counters, [_limit(100, "a")]) for _ in range(20)]
        assert times[0] <= 0.25
        assert max(times[1:]) < 0.05
        assert LIMITER_DEGRADED._value.get() == 1
        assert [record.message for record in caplog.records].count(
            "Redis is away: requests are counted in this process"
        ) == 1
        own_redis.thaw()


async def test_who_comes_while_redis_hangs_does_not_wait_twice(own_redis: RedisServer) -> None:
    async with _shared(own_redis) as counters:
        own_redis.freeze()
        first = asyncio.create_task(_timed(counters, [_limit(100, "a")]))
        await asyncio.sleep(0.1)
        times = await asyncio.gather(first, *(_timed(counters, [_limit(100, "a")]) for _ in range(10)))
        assert max(times) <= 0.25
        own_redis.thaw()


async def test_a_redis_that_is_killed_is_taken_up_again(own_redis: RedisServer) -> None:
    async with _shared(own_redis) as counters:
        own_redis.kill()
        assert (await counters.take([_limit(3, "a")]))[0]
        assert LIMITER_DEGRADED._value.get() == 1
        own_redis.start()
        await asyncio.sleep(1.5)
        assert LIMITER_DEGRADED._value.get() == 0
        assert (await counters.take([_limit(3, "a")]))[1][0].current == 1


async def test_without_redis_each_frontend_counts_its_share(own_redis: RedisServer) -> None:
    async with _shared(own_redis) as first, _shared(own_redis) as second, _shared(own_redis) as third:
        await asyncio.sleep(1.2)
        own_redis.kill()
        assert await _passed([first, second, third], [_limit(30, "a")], 300) == 30


async def test_without_redis_requests_can_be_refused(own_redis: RedisServer) -> None:
    async with _shared(own_redis, refuse=True) as counters:
        own_redis.kill()
        with pytest.raises(BadGateway):
            await counters.take([_limit(30, "a")])


async def test_redis_may_be_away_at_the_start() -> None:
    counters = SharedCounters("redis://127.0.0.1:1/0", refuse=False)
    await counters.start()
    assert (await counters.take([_limit(3, "a")]))[0]
    await counters.close()


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
    headers = await Limiter(LocalCounters(), LIMITS, TIERS).take(caller, "embeddings")
    assert headers["X-RateLimit-Limit"] == str(limit)
    assert headers["X-RateLimit-Remaining"] == str(limit - 1)


async def test_an_organisation_shares_its_limit_between_keys() -> None:
    limiter = Limiter(LocalCounters(), LIMITS, {})
    await limiter.take(Caller("a", "a", org="o", org_limit=1), "embeddings")
    with pytest.raises(RateLimited, match=r"rate limit exceeded \(1/min\)"):
        await limiter.take(Caller("b", "b", org="o", org_limit=1), "rerank")


async def test_endpoints_are_counted_apart() -> None:
    limiter = Limiter(LocalCounters(), {"embeddings": 1, "rerank": 1}, {})
    await limiter.take(Caller("a", "a"), "embeddings")
    await limiter.take(Caller("a", "a"), "rerank")


async def _used(limiter: Limiter) -> dict[str, tuple[int, int]]:
    await _away_from_the_minute()
    caller = Caller(uuid.uuid4().hex, "a", org=uuid.uuid4().hex, org_limit=50)
    for _ in range(3):
        await limiter.take(caller, "embeddings")
    await limiter.look(caller)
    counts = await limiter.look(caller)
    return {name: (count.limit, count.remaining) for name, count in counts.items()}


async def test_looking_at_limits_counts_nothing_in_memory() -> None:
    used = await _used(Limiter(LocalCounters(), LIMITS, {}))
    assert (used["embeddings"], used["speech"], used["organisation"]) == ((120, 117), (120, 120), (50, 47))


async def test_looking_at_limits_counts_nothing_in_redis(redis_server: RedisServer) -> None:
    async with _shared(redis_server) as counters:
        used = await _used(Limiter(counters, LIMITS, {}))
    assert (used["embeddings"], used["speech"], used["organisation"]) == ((120, 117), (120, 120), (50, 47))


async def test_looking_at_limits_works_while_redis_is_away(own_redis: RedisServer) -> None:
    async with _shared(own_redis) as counters:
        own_redis.kill()
        used = await _used(Limiter(counters, LIMITS, {}))
    assert used["embeddings"] == (120, 117)
