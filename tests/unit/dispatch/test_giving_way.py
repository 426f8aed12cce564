"""Lower tiers leave processors to a higher one that calls now and then: nothing interrupts an execution."""

import pytest

from frontend.dispatch.batch_size import Work
from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules
from frontend.tritons.inference import Capacity
from tests.unit.dispatch.calls import COMPANY, FREE, PRO, PROCESSORS, Scene

# A smallest execution is four units, and a call of a whole one is sent alone.
_CUT = Work(4, 4, divisible=True)
_TWO = Capacity(2, 32)


def _cut(capacity: Capacity = _TWO) -> Scene:
    scene = Scene(Rules(hold_seconds=5))
    scene.model("m", _CUT)
    scene.triton("t", m=capacity)
    return scene


def _came(scene: Scene, priority: int = COMPANY) -> None:
    """A call comes and ends."""
    scene.enter("m", priority)
    scene.end(*scene.sent(), after=0.01)


def _sent(scene: Scene, count: int, cost: float, priority: int = FREE) -> int:
    scene.enter_all(count, "m", priority, cost)
    return len(scene.sent())


def test_calls_that_are_cut_leave_an_instance_after_a_call_of_a_higher_tier() -> None:
    scene = _cut()
    _came(scene)
    assert _sent(scene, 8, 4.0) == 1
    scene.now += 0.1
    company = scene.enter("m", COMPANY)
    assert scene.sent() == [company]


def test_they_leave_it_while_the_first_such_call_is_in_flight() -> None:
    scene = _cut()
    scene.enter("m", COMPANY)
    scene.sent()
    scene.now += 0.1
    assert _sent(scene, 8, 2.0) == 1


@pytest.mark.parametrize("priority", [FREE, PRO])
def test_a_call_of_the_same_or_a_lower_tier_changes_nothing(priority: int) -> None:
    scene = _cut()
    _came(scene, priority=FREE)
    assert _sent(scene, 8, 4.0, priority=priority) > 1


def test_the_instance_is_used_again_when_no_such_call_came_for_the_hold_time() -> None:
    scene = _cut()
    _came(scene)
    scene.now += 5.1
    assert _sent(scene, 8, 4.0) > 1


def test_without_a_hold_time_no_instance_is_kept() -> None:
    scene = Scene(Rules(hold_seconds=0))
    scene.model("m", _CUT)
    scene.triton("t", m=_TWO)
    _came(scene)
    assert _sent(scene, 8, 4.0) > 1


def test_a_gpu_keeps_no_instance() -> None:
    scene = _cut(Capacity(2, 32, gpu=True))
    _came(scene)
    assert _sent(scene, 8, 4.0) > 1


def test_small_calls_share_an_execution_of_a_quarter_of_the_smallest() -> None:
    scene = _cut()
    _came(scene)
    assert _sent(scene, 8, 0.25) == 4
    scene.now += 0.01
    assert scene.sent() == []


def test_calls_that_are_not_cut_have_one_in_flight_for_each_instance() -> None:
    scene = Scene()
    scene.triton("t", m=Capacity(2, 8))
    _came(scene)
    assert _sent(scene, 8, 0.1) == 2


def test_a_call_of_a_middle_tier_goes_beside_those_of_lower_ones() -> None:
    scene = _cut()
    _came(scene)
    assert _sent(scene, 1, 4.0) == 1
    scene.now += 0.1
    assert _sent(scene, 1, 4.0, priority=PRO) == 1


def test_a_call_below_its_floor_takes_the_kept_instance() -> None:
    scene = Scene()
    scene.model("m", _CUT, floors={"acme": 2})
    scene.triton("t", m=_TWO)
    _came(scene)
    for _ in range(2):
        scene.enter("m", FREE, 4.0, owner="acme")
        assert len(scene.sent()) == 1


def test_lower_tiers_are_looked_at_again_when_the_hold_time_ends() -> None:
    scene = _cut()
    _came(scene)
    scene.enter_all(2, "m", cost=4.0)
    scene.now += 0.1
    scene.sent()
    scene.now += 0.1
    models = scene.admission.models.values()
    assert scene.admission.next_change(scene.now, models) == pytest.approx(5.01)
    scene.now = 5.02
    assert len(scene.sent()) == 1


def test_a_call_that_goes_before_all_in_flight_may_take_the_processors_that_an_aged_call_waits_for() -> None:
    scene = Scene(Rules(age_seconds=4, aged_every=1))
    scene.triton("t", one=PROCESSORS, other=PROCESSORS, third=PROCESSORS)
    in_flight = scene.enter("one", cost=2.0)
    scene.sent()
    aged = scene.enter("other")
    scene.now += 4.5
    company = scene.enter("third", COMPANY)
    assert scene.sent() == [company]
    scene.end(company, in_flight)
    assert scene.sent() == [aged]


def test_a_company_delays_no_model_for_the_sake_of_another() -> None:
    scene = Scene()
    scene.triton("t", long=PROCESSORS, short=PROCESSORS, third=PROCESSORS)
    seconds = {"long": 5.0, "short": 0.1, "third": 0.02}
    ends: dict[Call, float] = {}
    served = dict.fromkeys(seconds, 0)
    scene.enter_all(100, "long")
    scene.enter_all(2000, "short")
    while scene.now < 60:
        if not scene.admission.models["third"].scheduler.others:
            scene.enter("third", COMPANY)
        for call in scene.sent():
            model = next(name for name, its in scene.admission.models.items() if call in its._sent)
            served[model] += 1
            ends[call] = scene.now + seconds[model]
        first = min(ends, key=ends.__getitem__)
        scene.end(first, after=ends.pop(first) - scene.now)
    # Half of the time or more, which is what both had without a company.
    assert served["short"] > 300
    assert served["long"] > 6


def test_a_company_that_always_has_a_call_in_flight_does_not_starve_the_others() -> None:
    scene = Scene()
    scene.triton("t", one=PROCESSORS, other=PROCESSORS)
    scene.enter_all(100, "other")
    in_flight: list[Call] = []
    served = 0
    for _ in range(200):
        scene.enter("one", COMPANY)
        in_flight += scene.sent()
        first = in_flight.pop(0)
        served += first.priority == FREE
        scene.end(first, after=0.2)
    assert served > 200 / 8


@pytest.mark.parametrize(("first", "second"), [(FREE, COMPANY), (COMPANY, FREE)])
def test_calls_of_different_tiers_are_sent_too_far_apart_for_one_batch(first: int, second: int) -> None:
    scene = _cut(Capacity(2, 32, delay=0.002))
    _came(scene)
    scene.now += 1.0
    assert _sent(scene, 1, 1.0, first) == 1
    scene.now += 0.001
    assert _sent(scene, 1, 1.0, second) == 0
    scene.now = scene.admission.next_change(scene.now, scene.admission.models.values())
    assert scene.now == pytest.approx(1.01 + 0.006)
    assert [call.priority for call in scene.sent()] == [second]


def test_calls_of_one_tier_are_not_looked_at_again_for_that() -> None:
    scene = _cut(Capacity(2, 32, delay=0.002))
    _sent(scene, 20, 4.0)
    assert scene.admission.next_change(scene.now, scene.admission.models.values()) >= 5.0


@pytest.mark.parametrize("capacity", [Capacity(2, 32, gpu=True, delay=0.002), Capacity(1, 32, delay=0.002)])
def test_on_a_gpu_or_with_one_instance_they_may_share_a_batch(capacity: Capacity) -> None:
    scene = _cut(capacity)
    scene.enter("m", FREE, 1.0)
    scene.enter("m", COMPANY, 1.0)
    assert len(scene.sent()) == 2
