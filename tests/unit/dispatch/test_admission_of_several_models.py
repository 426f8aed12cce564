"""The next call if several models share processors."""

import pytest

from frontend.tritons.inference import Capacity
from tests.unit.dispatch.calls import COMPANY, DIVISIBLE, FREE, GPU, PRO, PROCESSORS, Scene


def _two_models(capacity: Capacity = PROCESSORS) -> Scene:
    scene = Scene()
    for model in ("one", "other"):
        scene.model(model, DIVISIBLE)
    scene.triton("a", one=capacity, other=capacity)
    for its in scene.admission.models.values():
        # Their executions are short.
        its._large_answers, its._seconds, its._cost = 5, 0.1, 4.0
    return scene


def test_models_of_one_priority_share_processors_by_executions() -> None:
    scene = _two_models()
    scene.enter_all(60, "one", cost=4)
    scene.enter_all(240, "other", cost=1)
    done = {4.0: 0, 1.0: 0}
    for _ in range(100):
        scene.sent()
        call = next(call for its in scene.admission.models.values() for call in its._sent)
        done[call.cost] += 1
        scene.end(call, after=0.1)
    assert done[4.0] * 4 == pytest.approx(done[1.0], rel=0.2)


def test_a_higher_priority_of_one_model_goes_before_a_lower_one_of_another() -> None:
    scene = _two_models()
    scene.enter_all(4, "one", cost=4)
    running = scene.sent()
    companies = scene.enter_all(3, "other", COMPANY, cost=4)
    # One goes over what the processors have, and the next ones before those that waited.
    assert scene.sent() == companies[:1]
    scene.end(*running)
    assert scene.sent() == companies[1:2]


@pytest.mark.parametrize("priority", [PRO, FREE])
def test_a_call_kept_waiting_for_processors_is_not_overtaken_by_smaller_ones(priority: int) -> None:
    scene = _two_models()
    scene.enter("one", PRO, cost=2)
    scene.enter("other", PRO, cost=4)
    assert len(scene.sent()) == 2
    large = scene.enter("one", PRO, cost=4)
    assert scene.sent() == []
    scene.enter("other", priority, cost=1)
    assert scene.sent() == []
    scene.end(next(iter(scene.admission.models["other"]._sent)))
    assert scene.sent()[0] is large


def test_a_call_kept_waiting_for_processors_is_overtaken_by_a_higher_priority() -> None:
    scene = _two_models()
    scene.enter("one", PRO, cost=2)
    scene.enter("other", PRO, cost=4)
    scene.sent()
    scene.enter("one", PRO, cost=4)
    company = scene.enter("other", COMPANY, cost=1)
    assert scene.sent() == [company]


def test_on_a_gpu_no_model_waits_for_another() -> None:
    scene = _two_models(GPU)
    scene.enter_all(3, "one", cost=4)
    scene.enter_all(3, "other", cost=4)
    assert len(scene.sent()) == 4


def test_ageing_holds_across_models_on_the_same_processors() -> None:
    scene = _two_models()
    scene.enter_all(40, "one", FREE, cost=4)
    scene.now = 5.0
    scene.enter_all(40, "other", COMPANY, cost=4)
    order: list[int] = []
    while len(order) < 30:
        sent = scene.sent()
        order += [call.priority for call in sent]
        # Calls that come meanwhile and find no room change nothing.
        for _ in range(5):
            scene.enter("other", COMPANY, cost=4)
            assert scene.sent() == []
        scene.end(*(call for its in scene.admission.models.values() for call in list(its._sent)))
    assert order[:30].count(FREE) == pytest.approx(30 / 5, abs=1)


def test_a_model_on_a_gpu_does_not_wait_for_the_processors_of_another() -> None:
    scene = Scene()
    scene.triton("a", voice=Capacity(1, 1), whisper=GPU)
    scene.enter_all(8, "voice", COMPANY)
    scene.enter_all(8, "whisper", FREE)
    assert sum(call.priority == FREE for call in scene.sent()) == 8


def test_models_on_the_same_tritons_are_neighbours() -> None:
    scene = Scene()
    scene.triton("a", one=PROCESSORS, other=PROCESSORS)
    scene.triton("b", third=PROCESSORS)
    its = scene.admission.models
    assert its["one"].neighbours == {its["one"], its["other"]}
    assert its["third"].neighbours == {its["third"]}


def test_a_model_that_has_the_processors_to_itself_has_two_executions_of_each_instance() -> None:
    scene = _two_models(Capacity(2, 4))
    scene.enter_all(8, "one", cost=4)
    assert len(scene.sent()) == 4
    scene.enter_all(8, "other", cost=4)
    assert scene.sent() == []
