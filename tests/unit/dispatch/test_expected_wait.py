"""How long a call would wait, and how long work takes, by what was measured."""

import math

import pytest

from frontend.dispatch.batch_size import Work
from tests.unit.dispatch.calls import COMPANY, DIVISIBLE, FREE, GPU, ONE, PRO, PROCESSORS, Scene


def _whole_calls(scene: Scene, count: int, cost: float = 1.0, seconds: float = 2.0) -> None:
    for _ in range(count):
        call = scene.enter("m", cost=cost)
        assert scene.sent() == [call]
        scene.end(call, after=seconds)


def test_the_expected_wait_is_known_after_one_whole_call_however_long_nothing_is_called() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    its = scene.admission.models["m"]
    assert its.seconds_for(10, 1) == 0
    _whole_calls(scene, 1)
    scene.now += 100_000
    assert its.seconds_for(10, 1) == 20
    scene.enter_all(6, "m")
    scene.sent()
    # Four wait, and one that is in flight is ahead of a new one; two are worked on at once.
    assert its.expected_wait(FREE) == pytest.approx((4 + 1) * 2.0 / 2)


def test_the_expected_wait_counts_what_goes_before() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    its = scene.admission.models["m"]
    _whole_calls(scene, 1)
    scene.enter_all(2, "m", COMPANY)
    scene.sent()
    scene.enter_all(1, "m", PRO)
    scene.enter_all(2, "m", FREE)
    assert its.expected_wait(COMPANY) < its.expected_wait(PRO) < its.expected_wait(FREE)


def test_small_calls_say_nothing_of_what_work_takes() -> None:
    scene = Scene()
    scene.model("m", DIVISIBLE)
    scene.triton("a", m=GPU)
    _whole_calls(scene, 5, cost=1)
    assert scene.admission.models["m"].seconds_for(100, 1) == 0


def test_where_no_instance_is_idle_work_takes_as_long_as_it_took_before() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    _whole_calls(scene, 1, seconds=2.0)
    _whole_calls(scene, 40, seconds=1.0)
    assert scene.admission.models["m"].seconds_for(10, 1) == pytest.approx(10, rel=0.01)


def test_long_executions_that_go_one_at_a_time_are_not_expected_two_at_a_time() -> None:
    scene = Scene()
    scene.model("m", Work(30))
    scene.triton("a", m=PROCESSORS)
    its = scene.admission.models["m"]
    _whole_calls(scene, 1, cost=30, seconds=3.0)
    scene.enter_all(11, "m", cost=30)
    assert len(scene.sent()) == 1
    assert its.seconds_for(300, 10) == pytest.approx(30)


def test_without_a_triton_the_wait_has_no_end() -> None:
    scene = Scene()
    assert math.isinf(scene.model("m").expected_wait(FREE))
