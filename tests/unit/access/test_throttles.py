import asyncio
from contextlib import suppress
from types import SimpleNamespace

import pytest

from frontend.access import throttles as module
from frontend.access.throttles import LeakyBuckets, UnbilledWorkThrottle, WrongKeys
from frontend.errors import BadGateway, InvalidRequest, RateLimited


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_amount_within_the_capacity_causes_no_wait() -> None:
    buckets = LeakyBuckets(10, 0.1, Clock())
    buckets.put("a", 10)
    assert buckets.wait("a") == 0


def test_a_bucket_leaks_with_time() -> None:
    clock = Clock()
    buckets = LeakyBuckets(10, 0.1, clock)
    buckets.put("a", 12)
    assert buckets.wait("a") == pytest.approx(20)
    clock.now += 15
    assert buckets.wait("a") == pytest.approx(5)
    clock.now += 1000
    buckets.put("a", 11)
    assert buckets.wait("a") == pytest.approx(10)


def test_buckets_are_independent() -> None:
    buckets = LeakyBuckets(1, 1, Clock())
    buckets.put("a", 100)
    assert buckets.wait("b") == 0


def test_a_bucket_never_goes_below_empty() -> None:
    buckets = LeakyBuckets(1, 1, Clock())
    buckets.put("a", -50)
    buckets.put("a", 3)
    assert buckets.wait("a") == pytest.approx(2)


def test_at_most_ten_thousand_buckets_are_stored() -> None:
    buckets = LeakyBuckets(1, 1, Clock())
    for number in range(10_001):
        buckets.put(number, 50)
    assert buckets.wait(0) == 0
    assert buckets.wait(1) == pytest.approx(49)


class Sleeper(Clock):
    """A clock that only moves while a coroutine sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


@pytest.fixture
def sleeper(monkeypatch: pytest.MonkeyPatch) -> Sleeper:
    made = Sleeper()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=made))
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=made.sleep))
    monkeypatch.setattr(LeakyBuckets.__init__, "__defaults__", (made,))
    return made


async def test_answers_to_many_wrong_keys_are_delayed(sleeper: Sleeper) -> None:
    wrong = WrongKeys(600)
    for _ in range(602):
        await wrong.pause("10.0.0.1")
    assert sleeper.slept[:600] == [0] * 600
    assert sleeper.slept[600:] == pytest.approx([0.1, 0.1])


async def test_an_answer_to_a_wrong_key_waits_at_most_five_seconds(sleeper: Sleeper) -> None:
    wrong = WrongKeys(1)
    for _ in range(3):
        await wrong.pause("10.0.0.1")
    assert sleeper.slept == [0, 5, 5]


async def test_without_a_limit_wrong_keys_are_not_delayed() -> None:
    wrong = WrongKeys(0)
    async with asyncio.timeout(1):
        for _ in range(1000):
            await wrong.pause("10.0.0.1")


async def _work(
    throttle: UnbilledWorkThrottle,
    sleeper: Sleeper,
    seconds: float,
    *,
    paid: bool = False,
    error: Exception | None = None,
) -> None:
    async with throttle.paced("a"):
        with throttle.work("a") as timer:
            with timer.measure():
                await sleeper.sleep(seconds)
            if paid:
                timer.paid()
            if error is not None:
                raise error


async def _waits(throttle: UnbilledWorkThrottle, sleeper: Sleeper) -> float:
    """Seconds that the next request waits."""
    del sleeper.slept[:]
    async with throttle.paced("a"):
        return sum(sleeper.slept)


@pytest.mark.parametrize(
    ("paid", "error", "waits"),
    [
        (False, None, 0.25),
        (True, None, 0),
        (False, InvalidRequest("not decoded"), 0.25),
        (False, BadGateway("away"), 0),
        (False, ValueError("ours"), 0),
    ],
    ids=["unbilled", "billed", "client error", "server error", "bug"],
)
async def test_unbilled_work_delays_the_next_request_unless_the_server_failed(
    sleeper: Sleeper, paid: bool, error: Exception | None, waits: float
) -> None:
    throttle = UnbilledWorkThrottle(0.1)
    with suppress(ValueError, InvalidRequest, BadGateway):
        await _work(throttle, sleeper, 0.15, paid=paid, error=error)
    assert await _waits(throttle, sleeper) == pytest.approx(waits)


async def test_billed_work_offsets_as_much_unbilled_work(sleeper: Sleeper) -> None:
    throttle = UnbilledWorkThrottle(0.1)
    await _work(throttle, sleeper, 0.1)
    await _work(throttle, sleeper, 0.2, paid=True)
    await _work(throttle, sleeper, 0.09)
    assert await _waits(throttle, sleeper) == 0


async def test_a_wait_that_is_too_long_is_refused(sleeper: Sleeper) -> None:
    throttle = UnbilledWorkThrottle(0.1)
    throttle._buckets.put("a", 20.1)
    with pytest.raises(RateLimited) as refused:
        async with throttle.paced("a"):
            pass
    assert (refused.value.headers["Retry-After"], sleeper.slept) == ("100", [])


async def test_delayed_requests_run_one_at_a_time() -> None:
    throttle = UnbilledWorkThrottle(0.1)
    throttle._buckets.put("a", 0.11)
    running = most = 0

    async def request() -> None:
        nonlocal running, most
        async with throttle.paced("a"):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.05)
            running -= 1

    await asyncio.gather(*(request() for _ in range(5)))
    assert most == 1


async def test_more_than_ten_wrong_admin_keys_per_minute_are_refused(sleeper: Sleeper) -> None:
    wrong = WrongKeys(0)
    for _ in range(11):
        wrong.note_guess("10.0.0.1")
    for _ in range(3):
        # What is refused puts the next one off no further.
        with pytest.raises(RateLimited) as refused:
            wrong.note_guess("10.0.0.1")
        assert refused.value.headers["Retry-After"] == "6"
    wrong.note_guess("10.0.0.2")
    sleeper.now += 6
    wrong.note_guess("10.0.0.1")
