"""Counters in memory and in a real Redis."""

import asyncio
import time
import uuid
from typing import Any

import pytest
from redis.asyncio import Redis

from frontend.access.counters import Counters, Limit, MemoryCounters
from frontend.access.storages import MINUTE
from frontend.observe.metrics import LIMITER_DEGRADED
from frontend.sharing.storage import RedisMinuteStorage
from tests.clocks import LimitsClock
from tests.redis import RedisServer
from tests.samples import Change
from tests.unit.access.counting import limit_of, passed, shared


@pytest.fixture(autouse=True)
def clock(limits_clock: LimitsClock) -> LimitsClock:
    return limits_clock


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_exactly_the_limit_passes_in_memory(limit: int) -> None:
    assert await passed([MemoryCounters()], [limit_of(limit, "a")], 10 * limit) == limit


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_exactly_the_limit_passes_over_three_frontends(
    redis_server: RedisServer, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine with much else to do Redis is no less there.
    monkeypatch.setattr("frontend.sharing.storage._TIMEOUT_SECONDS", 10)
    async with shared(redis_server.url) as first, shared(redis_server.url) as second, shared(redis_server.url) as third:
        limits = [limit_of(limit, uuid.uuid4().hex)]
        assert await passed([first, second, third], limits, 10 * limit) == limit


async def test_questions_to_redis_are_timed(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as counters:
        asked = Change("quartet_redis_seconds_count", use="limits")
        for _ in range(3):
            await counters.take([limit_of(5, "timed")])
        # Its heart beats besides.
        assert asked.by >= 3


async def test_a_request_counts_in_redis_under_all_limits_or_under_none(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with shared(redis_server.url) as counters:
        both = [limit_of(5, owner), limit_of(2, owner, "org")]
        assert await passed([counters], both, 10) == 2
        assert (await counters.take([limit_of(5, owner)]))[1][0].current == 3


async def _used_of(counters: Counters, limits: list[Limit], requests: int) -> int:
    """The requests in the window after ``requests`` more."""
    for _ in range(requests):
        await counters.take(limits)
    _, counts = await counters.take([Limit(0, limit.key) for limit in limits])
    return counts[0].used


@pytest.mark.parametrize(("later", "used"), [(0, 6), (60, 5), (75, 4), (90, 3), (119.9, 0), (120, 0), (-60, 0)])
async def test_the_last_minute_counts_by_its_share_of_the_window(
    redis_server: RedisServer, clock: LimitsClock, later: float, used: int
) -> None:
    limits, begin = [limit_of(100, uuid.uuid4().hex)], 1_000_000_020.0
    async with shared(redis_server.url) as counters:
        found = []
        for each in (counters, MemoryCounters()):
            clock.move_to(begin)
            await _used_of(each, limits, 6)
            clock.move_to(begin + later)
            found.append(await _used_of(each, limits, 0))
        assert found == [used, used]


async def test_counts_in_redis_stay_while_they_are_in_the_window_and_no_longer(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with shared(redis_server.url) as counters:
        await counters.take([limit_of(5, owner)])
        # To the end of the minute after the one that they are counted in, with some seconds to spare.
        assert 120 <= await counters._frontends.redis.ttl(f"quartet:{{{owner}}}:embeddings:{owner}") <= 180


@pytest.mark.parametrize("place", ["memory", "Redis"])
async def test_several_requests_count_together_under_all_limits_or_under_none(
    redis_server: RedisServer, place: str
) -> None:
    owner = uuid.uuid4().hex
    async with shared(redis_server.url) as in_redis:
        counters = MemoryCounters() if place == "memory" else in_redis
        both = [limit_of(9, owner), limit_of(5, owner, "org")]
        taken = [(await counters.take(both, requests))[0] for requests in (3, 3, 2, 1)]
        assert taken == [True, False, True, False]
        assert [
            count.current for count in (await counters.take([limit_of(0, owner), limit_of(0, owner, "org")]))[1]
        ] == [
            5,
            5,
        ]


class _Pipeline:
    """A pipeline of Redis with a given answer or error."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    async def __aenter__(self) -> "_Pipeline":
        return self

    async def __aexit__(self, *error: object) -> None:
        return

    def execute_command(self, *arguments: object) -> None:
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
async def test_a_bad_answer_of_redis_leaves_no_request_waiting(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    redis = Redis.from_url(redis_server.url)
    storage = RedisMinuteStorage("async+redis+minutes://", connection_pool=redis.connection_pool)
    counters = [(uuid.uuid4().hex, 5), (uuid.uuid4().hex, 5)]
    with monkeypatch.context() as patched:
        patched.setattr(storage._redis, "pipeline", lambda **options: _Pipeline(outcome))
        async with asyncio.timeout(10):
            told = await asyncio.gather(*(storage.acquire_together(counters) for _ in range(3)), return_exceptions=True)
    assert [isinstance(each, BaseException) for each in told] == [True] * 3
    async with asyncio.timeout(10):
        assert (await storage.acquire_together(counters))[0]
    await redis.aclose()


async def test_a_cancelled_caller_does_not_cancel_the_others(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as counters:
        first, second = (asyncio.create_task(counters.take([limit_of(5, uuid.uuid4().hex)])) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second)[0]


async def test_a_redis_that_hangs_is_waited_for_once(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, waited, timeout = [limit_of(100, "a")], [], asyncio.timeout

    def note(seconds: float) -> asyncio.Timeout:
        waited.append(seconds)
        return timeout(seconds)

    async with shared(own_redis.url) as counters:
        await counters._beating.close()
        own_redis.freeze()
        monkeypatch.setattr(asyncio, "timeout", note)
        early = asyncio.create_task(passed([counters], limits, 20))
        await asyncio.sleep(0.05)
        # Who comes while it hangs does not wait twice.
        assert await passed([counters], limits, 10) + await early == 30
        assert await passed([counters], limits, 20) == 20
        assert waited == [0.2]
        assert LIMITER_DEGRADED._value.get() == 1
        assert [record.message for record in caplog.records].count(
            "Redis is away: requests are counted in this process"
        ) == 1
        own_redis.thaw()


def test_many_keys_cost_a_request_no_more_than_few() -> None:
    async def cost(keys: int) -> float:
        counters = MemoryCounters()
        limits = [[limit_of(10, str(number))] for number in range(keys)]
        for each in limits:
            await counters.take(each)
            await asyncio.sleep(0)
        began = time.process_time()
        for number in range(2_000):
            await counters.take(limits[number % keys])
            # What is left to do beside a request belongs to its cost.
            await asyncio.sleep(0)
        return time.process_time() - began

    few, many = (min(asyncio.run(cost(keys)) for _ in range(3)) for keys in (10, 20_000))
    assert many < 5 * few


async def test_counts_of_two_minutes_ago_are_forgotten(limits_clock: LimitsClock) -> None:
    counters = MemoryCounters()
    for number in range(1_000):
        await counters.take([limit_of(10, str(number))])
    counted = counters._storage
    assert len(counted._current) == 1_000
    limits_clock.move_to(limits_clock.now + 2 * MINUTE)
    await counters.take([limit_of(10, "new")])
    assert (len(counted._previous), len(counted._current)) == (0, 1)
