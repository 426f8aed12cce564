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


def test_what_fits_in_is_not_waited_for() -> None:
    buckets = LeakyBuckets(10, 0.1, Clock())
    buckets.put("a", 10)
    assert buckets.wait("a") == 0


def test_what_is_too_much_runs_out_with_time() -> None:
    clock = Clock()
    buckets = LeakyBuckets(10, 0.1, clock)
    buckets.put("a", 12)
    assert buckets.wait("a") == pytest.approx(20)
    clock.now += 15
    assert buckets.wait("a") == pytest.approx(5)
    clock.now += 1000
    buckets.put("a", 11)
    assert buckets.wait("a") == pytest.approx(10)


def test_nobody_waits_for_what_others_put_in() -> None:
    buckets = LeakyBuckets(1, 1, Clock())
    buckets.put("a", 100)
    assert buckets.wait("b") == 0


def test_no_more_is_taken_out_than_there_is() -> None:
    buckets = LeakyBuckets(1, 1, Clock())
    buckets.put("a", -50)
    buckets.put("a", 3)
    assert buckets.wait("a") == pytest.approx(2)


def test_no_more_names_than_ten_thousand_are_kept() -> None:
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


async def test_the_refusals_of_many_wrong_keys_wait(sleeper: Sleeper) -> None:
    wrong = WrongKeys(600)
    for _ in range(602):
        await wrong.pause("10.0.0.1")
    assert sleeper.slept[:600] == [0] * 600
    assert sleeper.slept[600:] == pytest.approx([0.1, 0.1])


async def test_no_refusal_waits_longer_than_five_seconds(sleeper: Sleeper) -> None:
    wrong = WrongKeys(1)
    for _ in range(3):
        await wrong.pause("10.0.0.1")
    assert sleeper.slept == [0, 5, 5]


async def test_where_there_is_no_bound_no_refusal_waits() -> None:
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


async def test_work_for_nothing_slows_the_next_request(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    await _work(unpaid, sleeper, 0.15)
    assert await _waits(unpaid, sleeper) == pytest.approx(0.25)


@pytest.mark.parametrize("failure", [BadGateway("away"), ValueError("ours")])
async def test_work_that_a_fault_of_ours_ends_slows_nothing(sleeper: Sleeper, failure: Exception) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    for _ in range(5):
        with pytest.raises(type(failure)):
            await _work(unpaid, sleeper, 0.1, failure=failure)
    assert await _waits(unpaid, sleeper) == 0


async def test_work_that_a_mistake_of_the_caller_ends_slows_the_next_request(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    with pytest.raises(InvalidRequest):
        await _work(unpaid, sleeper, 0.15, failure=InvalidRequest("not decoded"))
    assert await _waits(unpaid, sleeper) == pytest.approx(0.25)


async def test_work_that_is_paid_for_slows_nothing(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    for _ in range(5):
        await _work(unpaid, sleeper, 0.1, paid=True)
    assert await _waits(unpaid, sleeper) == 0


async def test_what_is_paid_for_makes_up_for_as_much_that_is_not(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    await _work(unpaid, sleeper, 0.1)
    await _work(unpaid, sleeper, 0.2, paid=True)
    await _work(unpaid, sleeper, 0.09)
    assert await _waits(unpaid, sleeper) == 0


async def test_who_has_to_wait_too_long_is_told_when_to_come_again(sleeper: Sleeper) -> None:
    unpaid = UnbilledWorkThrottle(0.1)
    unpaid._buckets.put("a", 20.1)
    with pytest.raises(RateLimited) as refused:
        async with unpaid.paced("a"):
            pass
    assert (refused.value.headers["Retry-After"], sleeper.slept) == ("100", [])


async def test_requests_that_had_to_wait_go_one_after_the_other() -> None:
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


async def test_guesses_of_the_admin_key_beyond_ten_a_minute_are_told_when_to_come_again(sleeper: Sleeper) -> None:
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
