import asyncio
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
    """A clock that moves by what is slept alone."""

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
    unpaid: UnbilledWorkThrottle,
    sleeper: Sleeper,
    seconds: float,
    *,
    paid: bool = False,
    failure: Exception | None = None,
) -> None:
    async with unpaid.paced("a"):
        with unpaid.work("a") as timer:
            with timer.taking_time():
                await sleeper.sleep(seconds)
            if paid:
                timer.paid()
            if failure is not None:
                raise failure


async def _waits(unpaid: UnbilledWorkThrottle, sleeper: Sleeper) -> float:
    """For how many seconds the next request does."""
    del sleeper.slept[:]
    async with unpaid.paced("a"):
        return sum(sleeper.slept)


async def test_unbilled_work_delays_the_next_request(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    await _work(unpaid, sleeper, 0.15)
    assert await _waits(unpaid, sleeper) == pytest.approx(0.25)


@pytest.mark.parametrize("failure", [BadGateway("away"), ValueError("ours")])
async def test_work_that_ends_with_a_server_error_is_not_counted(sleeper: Sleeper, failure: Exception) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    for _ in range(5):
        with pytest.raises(type(failure)):
            await _work(unpaid, sleeper, 0.1, failure=failure)
    assert await _waits(unpaid, sleeper) == 0


async def test_work_that_ends_with_a_client_error_delays_the_next_request(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    with pytest.raises(InvalidRequest):
        await _work(unpaid, sleeper, 0.15, failure=InvalidRequest("not decoded"))
    assert await _waits(unpaid, sleeper) == pytest.approx(0.25)


async def test_billed_work_delays_nothing(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    for _ in range(5):
        await _work(unpaid, sleeper, 0.1, paid=True)
    assert await _waits(unpaid, sleeper) == 0


async def test_billed_work_offsets_as_much_unbilled_work(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    await _work(unpaid, sleeper, 0.1)
    await _work(unpaid, sleeper, 0.2, paid=True)
    await _work(unpaid, sleeper, 0.09)
    assert await _waits(unpaid, sleeper) == 0


async def test_a_wait_that_is_too_long_is_refused(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    unpaid._buckets.put("a", 20.1)
    with pytest.raises(RateLimited) as refused:
        async with unpaid.paced("a"):
            pass
    assert (refused.value.headers["Retry-After"], sleeper.slept) == ("100", [])


async def test_delayed_requests_run_one_at_a_time() -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    unpaid._buckets.put("a", 0.11)
    running = most = 0

    async def request() -> None:
        nonlocal running, most
        async with unpaid.paced("a"):
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
