"""Whether a Triton has room for one more call."""

import pytest

from frontend.dispatch.fair_share import Call
from frontend.dispatch.load import ModelLoad, TritonLoad
from frontend.tritons.inference import Capacity
from tests.unit.dispatch.calls import BULK, COMPANY, FREE, GPU, PRO, PROCESSORS


def _call(executions: float = 1.0, priority: int = FREE) -> Call:
    return Call("k", priority, None, 0.0, executions=executions)


def _triton(**models: Capacity) -> TritonLoad:
    triton = TritonLoad(models, idle_seconds=5)
    for model, capacity in models.items():
        triton.models[model].capacity, triton.models[model].takes_calls = capacity, True
    return triton


def _has_room(load: ModelLoad, call: Call, *, alone: bool = False, now: float = 1.0) -> bool:
    return load.has_room(call, call.executions, alone=alone, now=now)


def _fill(triton: TritonLoad, model: str, call: Call, *, alone: bool = False, now: float = 0.0) -> int:
    """Send equal calls until there is no room, and return their number."""
    sent = 0
    while _has_room(triton.models[model], call, alone=alone, now=now):
        triton.begin(_call(call.executions, call.priority), model, now)
        sent += 1
    return sent


@pytest.mark.parametrize(("instances", "executions", "sent"), [(1, 1.0, 2), (3, 1.0, 6), (1, 0.5, 4), (1, 0.25, 8)])
def test_each_instance_has_two_executions(instances: int, executions: float, sent: int) -> None:
    triton = _triton(m=Capacity(instances, 4, gpu=True))
    assert _fill(triton, "m", _call(executions)) == sent


def test_small_calls_are_at_most_two_batches() -> None:
    assert _fill(_triton(m=GPU), "m", _call(0.001)) == 2 * 4


def test_a_large_batch_keeps_one_place_for_a_first_call() -> None:
    assert _fill(_triton(m=Capacity(1, 16, gpu=True)), "m", _call(1 / 16)) == 2 * 15


def test_a_cap_is_not_exceeded() -> None:
    triton = _triton(m=GPU)
    triton.models["m"].cap = 3
    assert _fill(triton, "m", _call(0.25)) == 3
    assert not _has_room(triton.models["m"], _call(0.25, COMPANY))


def test_long_executions_run_one_at_a_time_on_each_instance() -> None:
    assert _fill(_triton(m=Capacity(2, 4)), "m", _call(), alone=True) == 2


def test_long_executions_of_one_instance_go_together_only_if_they_are_sent_together() -> None:
    triton = _triton(m=PROCESSORS)
    assert _fill(triton, "m", _call(0.5), alone=True) == 2
    triton = _triton(m=PROCESSORS)
    triton.begin(_call(0.5), "m", now=0.0)
    assert not _has_room(triton.models["m"], _call(0.5), alone=True, now=0.1)


def test_no_call_waits_in_triton_behind_a_long_execution_but_one_that_goes_before_all_in_flight() -> None:
    triton = _triton(m=PROCESSORS)
    triton.begin(_call(), "m", now=0.0)
    assert not _has_room(triton.models["m"], _call(0.1), alone=True)
    assert _fill(triton, "m", _call(0.1, COMPANY), alone=True) == 1


def test_a_call_that_goes_before_all_in_flight_may_be_one_over_the_bound_and_only_one() -> None:
    triton = _triton(m=GPU)
    _fill(triton, "m", _call(0.25))
    assert not _has_room(triton.models["m"], _call(0.25))
    assert _fill(triton, "m", _call(0.25, COMPANY)) == 1


def test_only_one_call_exceeds_the_bound() -> None:
    triton = _triton(m=GPU)
    _fill(triton, "m", _call())
    triton.begin(_call(priority=PRO), "m", 0.0)
    assert not _has_room(triton.models["m"], _call(priority=COMPANY))


def test_a_call_that_goes_before_some_in_flight_may_not_be_over_the_bound() -> None:
    triton = _triton(m=GPU)
    triton.begin(_call(priority=PRO), "m", 0.0)
    _fill(triton, "m", _call())
    assert not _has_room(triton.models["m"], _call(priority=PRO))
    assert _has_room(triton.models["m"], _call(priority=COMPANY))


@pytest.mark.parametrize("alone", [False, True])
def test_very_long_calls_leave_one_instance_free(alone: bool) -> None:
    triton = _triton(m=Capacity(3, 4))
    assert _fill(triton, "m", _call(7.0), alone=alone) == 2
    assert _has_room(triton.models["m"], _call(0.1), alone=alone)


def test_a_very_long_call_goes_to_an_empty_model() -> None:
    assert _fill(_triton(m=GPU), "m", _call(7.0)) == 1


def test_executions_of_several_models_on_processors_are_counted_together() -> None:
    triton = _triton(one=PROCESSORS, other=PROCESSORS)
    triton.begin(_call(), "one", 0.0)
    assert triton.has_processors(_call(), "other", 1.0)
    triton.begin(_call(), "one", 0.0)
    assert not triton.has_processors(_call(), "other", 1.0)


def test_a_call_that_goes_before_all_on_the_processors_may_be_one_more_and_only_one() -> None:
    triton = _triton(one=PROCESSORS, other=PROCESSORS)
    for _ in range(2):
        triton.begin(_call(), "one", 0.0)
    assert triton.has_processors(_call(priority=COMPANY), "other", 1.0)
    triton.begin(_call(priority=COMPANY), "other", 0.0)
    assert not triton.has_processors(_call(priority=COMPANY), "other", 1.0)


def test_the_model_with_the_most_instances_says_how_many_executions_the_processors_have() -> None:
    triton = _triton(one=Capacity(4, 4), other=PROCESSORS)
    for _ in range(3):
        triton.begin(_call(), "one", 0.0)
    assert triton.has_processors(_call(), "other", 1.0)
    assert not triton.has_processors(_call(), "other", 1.1)


def test_models_on_a_gpu_are_not_counted_together() -> None:
    triton = _triton(one=GPU, other=GPU, third=PROCESSORS)
    for _ in range(3):
        triton.begin(_call(), "one", 0.0)
    assert triton.has_processors(_call(), "other", 1.0)


def test_tritons_with_an_idle_instance_are_alike() -> None:
    triton = _triton(m=Capacity(2, 4, gpu=True))
    levels = []
    for _ in range(4):
        levels.append(triton.level("m"))
        triton.begin(_call(), "m", 0.0)
    assert levels == [0, 0, 1, 1]


def test_bulk_work_has_a_triton_that_nobody_has_used() -> None:
    assert _triton(m=GPU).is_idle(0.0)


def _run(triton: TritonLoad, priority: int, began: float, ended: float, model: str = "m") -> None:
    call = _call(priority=priority)
    triton.begin(call, model, began)
    call.sent = began
    triton.end(call, model, ended)


def test_bulk_work_waits_until_a_triton_has_been_idle() -> None:
    triton = _triton(m=GPU)
    _run(triton, BULK, 0.0, 1.0)
    _run(triton, FREE, 1.0, 2.0)
    assert (triton.is_idle(6.9), triton.next_idle(3.0), triton.is_idle(7.0)) == (False, 7.0, True)


def test_bulk_work_waits_for_another_model_of_the_same_triton_too() -> None:
    triton = _triton(m=GPU, other=GPU)
    triton.begin(_call(), "other", 0.0)
    assert (triton.is_idle(20.0), triton.next_idle(20.0)) == (False, 25.0)


def test_bulk_work_has_a_small_part_of_the_time_of_a_triton_that_is_never_idle() -> None:
    triton, seconds, now = _triton(m=GPU), 0.0, 0.0
    while now < 1000:
        if triton.is_idle(now):
            _run(triton, BULK, now, now + 1.0)
            seconds += 1.0
            now += 1.0
        _run(triton, FREE, now, now + 0.1)
        now += 0.5
    assert seconds / now == pytest.approx(0.02, rel=0.05)


def test_under_load_bulk_has_one_call_at_a_time() -> None:
    triton = _triton(m=GPU)
    _run(triton, FREE, 0.0, 0.1)
    assert triton.is_idle(1.0)
    triton.begin(_call(priority=BULK), "m", 1.0)
    assert not triton.is_idle(1.0)


def test_calls_of_another_frontend_delay_bulk_work() -> None:
    triton = _triton(m=GPU)
    _run(triton, BULK, 0.0, 1.0)
    triton.used_elsewhere(2.0)
    assert (triton.is_idle(6.9), triton.is_idle(7.0)) == (False, True)
