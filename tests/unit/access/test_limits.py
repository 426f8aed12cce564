"""Limits over a real Redis: shared, atomic, and going on when it is killed or hangs."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from limits import RateLimitItemPerMinute

from frontend.access.caller import Caller
from frontend.access.counters import Limit, RedisCounters, Taken, within_ticks
from frontend.access.limits import Counters, Limiter, LocalCounters, SharedCounters
from frontend.catalogue.endpoints import LIMITS
from frontend.errors import BadGateway, RateLimited
from frontend.observe.metrics import LIMITER_DEGRADED
from tests.clocks import LimitsClock
from tests.redis import RedisServer

_SEND = RedisCounters._send


def _limit(number: int, owner: str, name: str = "embeddings") -> Limit:
    return RateLimitItemPerMinute(number), (name, owner)


@pytest.fixture(autouse=True)
def clock(limits_clock: LimitsClock) -> LimitsClock:
    return limits_clock


@asynccontextmanager
async def _shared(server: RedisServer, *, refuse: bool = False) -> AsyncIterator[SharedCounters]:
    counters = SharedCounters(server.url, refuse=refuse)
    await counters.start()
    try:
        yield counters
    finally:
        await counters.close()


async def _passed(counters: list[Counters], limits: list[Limit], requests: int) -> int:
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


async def _used_of(counters: Counters, limits: list[Limit], requests: int) -> int:
    """Requests in the window after so many more."""
    for _ in range(requests):
        await counters.take(limits)
    return (await counters.look(limits))[0].used


@pytest.mark.parametrize(("later", "used"), [(0, 6), (60, 5), (75, 4), (90, 3), (119.9, 0), (120, 0), (-60, 0)])
async def test_the_minute_before_counts_by_how_much_of_it_is_in_the_window(
    redis_server: RedisServer, clock: LimitsClock, later: float, used: int
) -> None:
    limits, begin = [_limit(100, uuid.uuid4().hex)], 1_000_000_020.0
    async with _shared(redis_server) as counters:
        found = []
        for each in (counters, LocalCounters()):
            clock.move_to(begin)
            await _used_of(each, limits, 6)
            clock.move_to(begin + later)
            found.append(await _used_of(each, limits, 0))
        assert found == [used, used]


async def test_counts_in_redis_stay_while_they_are_in_the_window_and_no_longer(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with _shared(redis_server) as counters:
        await counters.take([_limit(5, owner)])
        # To the end of the minute after the one that they are counted in, with some seconds to spare.
        assert 120 <= await counters._shared.redis.ttl(f"quartet:{{{owner}}}:embeddings:{owner}") <= 180


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


async def test_a_redis_that_hangs_is_waited_for_once(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    async def send(self: RedisCounters, batch: list[Sequence[Limit]]) -> list[list[int]]:
        sent.append(len(batch))
        return await _SEND(self, batch)

    async with _shared(own_redis) as counters:
        own_redis.freeze()
        monkeypatch.setattr(RedisCounters, "_send", send)
        assert await _passed([counters], [_limit(100, "a")], 20) == 20
        assert await _passed([counters], [_limit(100, "a")], 20) == 20
        assert sent == [20]
        assert LIMITER_DEGRADED._value.get() == 1
        assert [record.message for record in caplog.records].count(
            "Redis is away: requests are counted in this process"
        ) == 1
        own_redis.thaw()


async def test_who_comes_while_redis_hangs_does_not_wait_twice(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    async def send(self: RedisCounters, batch: list[Sequence[Limit]]) -> list[list[int]]:
        sent.append(len(batch))
        if len(sent) == 1:
            late.extend(asyncio.create_task(counters.take([_limit(100, "a")])) for _ in range(10))
        return await _SEND(self, batch)

    late: list[asyncio.Task[Taken]] = []
    async with _shared(own_redis) as counters:
        own_redis.freeze()
        monkeypatch.setattr(RedisCounters, "_send", send)
        await counters.take([_limit(100, "a")])
        await asyncio.gather(*late)
        assert sent == [1]
        own_redis.thaw()


async def test_redis_is_waited_for_a_fifth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    waited, wait = [], asyncio.wait

    async def note(tasks: Any, **options: float) -> Any:
        waited.append(options["timeout"])
        return await wait(tasks, timeout=options["timeout"])

    monkeypatch.setattr(asyncio, "wait", note)
    with pytest.raises(TimeoutError):
        await within_ticks(asyncio.Event().wait())
    assert sum(waited) == pytest.approx(0.2)


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


async def test_a_share_is_never_nothing(own_redis: RedisServer) -> None:
    async with _shared(own_redis) as counters:
        counters._frontends = 3
        own_redis.kill()
        assert await _passed([counters], [_limit(2, "a")], 10) == 1


async def test_where_redis_tells_of_no_frontend_there_is_one(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(self: SharedCounters) -> int:
        return 0

    monkeypatch.setattr(SharedCounters, "_tell", nobody)
    async with _shared(own_redis) as counters:
        own_redis.kill()
        assert await _passed([counters], [_limit(2, "a")], 10) == 2


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
