"""Properties of the sliding window, compared with arithmetic and with the library limits."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from frontend.access.counters import MemoryCounters
from frontend.access.windows import WINDOW_US, Count
from tests.clocks import LimitsClock
from tests.unit.access.counting import limit_of

COUNTS = st.integers(1, 1000).flatmap(
    lambda limit: st.builds(
        Count, st.just(limit), st.integers(0, limit), st.integers(0, limit), st.integers(1, WINDOW_US - 1)
    )
)


def _after(count: Count, seconds: int) -> Count:
    """The same counter some seconds later, without more requests."""
    minutes, elapsed = divmod(count.elapsed_us + seconds * 1_000_000, WINDOW_US)
    previous, current = [(count.previous, count.current), (count.current, 0), (0, 0)][minutes]
    return Count(count.limit, previous, current, max(1, elapsed))


@given(COUNTS)
def test_a_request_passes_after_the_time_that_was_told(count: Count) -> None:
    assert 1 <= count.retry_after <= 60
    assert _after(count, count.retry_after).open


def test_a_limit_that_is_lowered_makes_nobody_wait_longer_than_a_minute() -> None:
    assert Count(limit=1, previous=0, current=100, elapsed_us=1).retry_after == 60


@given(COUNTS)
def test_retry_after_is_at_most_a_second_too_long(count: Count) -> None:
    if not count.open and count.retry_after > 2:
        assert not _after(count, count.retry_after - 2).open


@given(COUNTS)
def test_a_counter_is_open_exactly_while_requests_remain(count: Count) -> None:
    assert count.open == (count.remaining > 0)


@given(COUNTS)
def test_nothing_is_counted_after_the_reset_or_at_the_limit_one_more_passes(count: Count) -> None:
    if count.open:
        assert _after(count, count.reset).used == 0
    else:
        assert count.reset == count.retry_after


class _Clock:
    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


STEPS = st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 12)), max_size=60)


@given(st.integers(1, 20), STEPS)
async def test_requests_pass_as_in_the_library_of_limits(limit: int, steps: list[tuple[int, int]]) -> None:
    clock = _Clock()
    ours, item, limits = MemoryCounters(), RateLimitItemPerMinute(limit), [limit_of(limit, "a")]
    with patch("time.time", clock):
        theirs = SlidingWindowCounterRateLimiter(MemoryStorage())
        for milliseconds, requests in steps:
            clock.now = round(clock.now + milliseconds / 1000 + 0.0005, 4)
            for _ in range(requests):
                assert (await ours.take(limits))[0] == theirs.hit(item, "a")


@given(st.integers(1, 20), STEPS)
async def test_a_refused_request_passes_in_the_library_after_the_time_that_was_told(
    limit: int, steps: list[tuple[int, int]]
) -> None:
    clock, ours, limits = _Clock(), MemoryCounters(), [limit_of(limit, "a")]
    with patch("time.time", clock):
        for milliseconds, requests in steps:
            clock.now += milliseconds / 1000
            for _ in range(requests):
                passed, counts = await ours.take(limits)
                if not passed:
                    clock.now += counts[0].retry_after
                    assert (await ours.take(limits))[0]


async def test_a_request_counts_under_all_limits_or_under_none(limits_clock: LimitsClock) -> None:
    ours = MemoryCounters()
    wide, narrow = limit_of(10, "a"), limit_of(1, "o", "org")
    assert (await ours.take([wide, narrow]))[0]
    assert not (await ours.take([wide, narrow]))[0]
    assert (await ours.take([wide]))[1][0].current == 2


async def test_a_limit_that_is_changed_keeps_its_count(limits_clock: LimitsClock) -> None:
    ours = MemoryCounters()
    await ours.take([limit_of(10, "a")])
    assert (await ours.take([limit_of(20, "a")]))[1][0].remaining == 18


async def test_requests_pass_after_a_clock_jump(limits_clock: LimitsClock) -> None:
    ours, limits = MemoryCounters(), [limit_of(1, "a")]
    await ours.take(limits)
    for jump in (3600, -7200):
        limits_clock.move_to(limits_clock.now + jump)
        assert (await ours.take(limits))[0]


def test_a_window_without_requests_resets_at_once() -> None:
    assert Count(10, previous=0, current=0, elapsed_us=30_000_000).reset == 0


def test_nothing_remains_of_a_limit_that_was_lowered_below_what_is_used() -> None:
    assert Count(limit=1, previous=0, current=5, elapsed_us=1).remaining == 0
