"""Requests are counted in memory, or in a real Redis: shared, atomic, and waited for once when it hangs."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from frontend.access.counters import Limit, MemoryCounters, RedisCounters, Taken, within_ticks
from frontend.access.limits import Counters
from frontend.observe.metrics import LIMITER_DEGRADED
from tests.clocks import LimitsClock
from tests.redis import RedisServer
from tests.samples import Change
from tests.unit.access.counting import limit_of, passed, shared

_SEND = RedisCounters._send


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
    monkeypatch.setattr("frontend.access.counters._TICKS", 200)
    async with shared(redis_server) as first, shared(redis_server) as second, shared(redis_server) as third:
        limits = [limit_of(limit, uuid.uuid4().hex)]
        assert await passed([first, second, third], limits, 10 * limit) == limit


async def test_questions_to_redis_are_timed(redis_server: RedisServer) -> None:
    async with shared(redis_server) as counters:
        asked = Change("quartet_redis_seconds_count", use="limits")
        for _ in range(3):
            await counters.take([limit_of(5, "timed")])
        # Its heart beats besides.
        assert asked.by >= 3


async def test_a_request_counts_in_redis_under_all_limits_or_under_none(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with shared(redis_server) as counters:
        both = [limit_of(5, owner), limit_of(2, owner, "org")]
        assert await passed([counters], both, 10) == 2
        assert (await counters.take([limit_of(5, owner)]))[1][0].current == 3


async def _used_of(counters: Counters, limits: list[Limit], requests: int) -> int:
    """Requests in the window after so many more."""
    for _ in range(requests):
        await counters.take(limits)
    return (await counters.look(limits))[0].used


@pytest.mark.parametrize(("later", "used"), [(0, 6), (60, 5), (75, 4), (90, 3), (119.9, 0), (120, 0), (-60, 0)])
async def test_the_minute_before_counts_by_how_much_of_it_is_in_the_window(
    redis_server: RedisServer, clock: LimitsClock, later: float, used: int
) -> None:
    limits, begin = [limit_of(100, uuid.uuid4().hex)], 1_000_000_020.0
    async with shared(redis_server) as counters:
        found = []
        for each in (counters, MemoryCounters()):
            clock.move_to(begin)
            await _used_of(each, limits, 6)
            clock.move_to(begin + later)
            found.append(await _used_of(each, limits, 0))
        assert found == [used, used]


async def test_counts_in_redis_stay_while_they_are_in_the_window_and_no_longer(redis_server: RedisServer) -> None:
    owner = uuid.uuid4().hex
    async with shared(redis_server) as counters:
        await counters.take([limit_of(5, owner)])
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
    limits = [limit_of(5, uuid.uuid4().hex), limit_of(5, uuid.uuid4().hex)]
    with monkeypatch.context() as patched:
        patched.setattr(counters.redis, "pipeline", lambda **options: _Pipeline(outcome))
        async with asyncio.timeout(10):
            told = await asyncio.gather(*(counters.take(limits) for _ in range(3)), return_exceptions=True)
    assert [isinstance(each, Exception) for each in told] == [True] * 3
    async with asyncio.timeout(10):
        assert (await counters.take(limits))[0]
    await counters.close()


async def test_a_redis_that_hangs_is_waited_for_once(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    late: list[asyncio.Task[Taken]] = []

    async def send(self: RedisCounters, batch: list[Sequence[Limit]]) -> list[list[int]]:
        sent.append(len(batch))
        # Who comes while it hangs does not wait twice.
        late.extend(asyncio.create_task(counters.take([limit_of(100, "a")])) for _ in range(10))
        return await _SEND(self, batch)

    async with shared(own_redis) as counters:
        own_redis.freeze()
        monkeypatch.setattr(RedisCounters, "_send", send)
        assert await passed([counters], [limit_of(100, "a")], 20) == 20
        assert await passed([counters], [limit_of(100, "a")], 20) == 20
        await asyncio.gather(*late)
        assert (sent, len(late)) == ([20], 10)
        assert LIMITER_DEGRADED._value.get() == 1
        assert [record.message for record in caplog.records].count(
            "Redis is away: requests are counted in this process"
        ) == 1
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
