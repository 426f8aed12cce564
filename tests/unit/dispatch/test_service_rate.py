"""How much work a model does a second while calls wait."""

import pytest

from frontend.dispatch.service_rate import ServiceRate
from tests.unit.dispatch.calls import COMPANY, FREE, PROCESSORS, Scene


def _noted(rate: ServiceRate, each_seconds: float, since: float, until: float, cost: float = 2.0) -> None:
    now = since
    while now < until:
        now += each_seconds
        rate.note(cost, now)


def _executed(scene: Scene, executions: int) -> None:
    """An execution takes the processors for a second, whichever model has it."""
    for _ in range(executions):
        sent = [call for its in scene.admission.models.values() for call in its._sent]
        scene.end(min(sent, key=lambda call: call.sent), after=1.0)
        scene.sent()


def test_the_rate_is_known_after_three_seconds_of_waiting_calls() -> None:
    rate = ServiceRate()
    _noted(rate, 0.5, 0.0, 3.0)
    assert rate.value == 0
    _noted(rate, 0.5, 3.0, 4.0)
    assert rate.value == pytest.approx(4.0)


def test_newer_answers_count_more() -> None:
    rate = ServiceRate()
    _noted(rate, 0.1, 0.0, 30.0)
    _noted(rate, 1.0, 30.0, 60.0)
    # As a mean over all these seconds it would be 11.
    assert 2.0 < rate.value < 3.0


def test_calls_that_end_together_count_over_the_time_of_all() -> None:
    rate = ServiceRate()
    for now in range(60):
        for _ in range(8):
            rate.note(1.0, float(now))
    assert rate.value == pytest.approx(8.0, rel=0.1)


def test_without_waiting_calls_nothing_is_known() -> None:
    rate = ServiceRate()
    _noted(rate, 0.5, 0.0, 10.0)
    rate.stop()
    assert rate.value == 0
    rate.note(2.0, 10.5)
    assert rate.value == 0


def test_seconds_in_which_the_model_is_away_do_not_count() -> None:
    rate = ServiceRate()
    _noted(rate, 0.5, 0.0, 10.0)
    _noted(rate, 0.5, 70.0, 74.0)
    assert rate.value == pytest.approx(4.0)


def test_a_model_that_has_the_processors_half_of_the_time_is_expected_to_take_twice_as_long() -> None:
    scene = Scene()
    scene.triton("t", one=PROCESSORS, other=PROCESSORS)
    waits = []
    for models in (["one"], ["one", "other"]):
        for model in models:
            scene.enter_all(400, model)
        scene.sent()
        _executed(scene, 40)
        its = scene.admission.models["one"]
        waits.append(scene.expected_wait("one") / its.scheduler.waiting(FREE))
    assert waits[1] == pytest.approx(2 * waits[0], rel=0.2)


def test_a_higher_tier_does_not_wait_as_long_as_lower_ones_have_to() -> None:
    scene = Scene()
    scene.triton("t", one=PROCESSORS, **{f"other{number}": PROCESSORS for number in range(4)})
    for model in scene.admission.models:
        scene.enter_all(100, model)
    scene.sent()
    _executed(scene, 40)
    its = scene.admission.models["one"]
    free = scene.expected_wait("one") / its.scheduler.waiting(FREE)
    scene.enter_all(10, "one", COMPANY)
    assert scene.expected_wait("one", COMPANY) / 10 < free / 2


def test_calls_that_leave_without_an_answer_end_the_measurement() -> None:
    scene = Scene()
    scene.triton("t", m=PROCESSORS)
    calls = scene.enter_all(30, "m")
    for _ in range(20):
        scene.sent()
        scene.end(next(iter(scene.admission.models["m"]._sent)), after=0.5)
    its = scene.admission.models["m"]
    for call in calls[20:]:
        its.leave(call, scene.now)
    assert its._service_rates[FREE - 1].value == 0
