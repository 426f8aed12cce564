"""The next call of all models, and its Triton."""

import math

import pytest

from frontend.dispatch.batch_size import Work
from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules
from frontend.tritons.inference import Capacity
from tests.unit.dispatch.calls import BULK, COMPANY, DIVISIBLE, FREE, ONE, Scene


def _places(calls: list[Call]) -> str:
    return "".join(call.backend for call in calls)


def test_a_triton_of_the_same_zone_is_preferred_while_it_has_room() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    scene.triton("b", m=ONE)
    scene.admission.tritons["a"].near = False
    scene.enter_all(5, "m")
    assert _places(scene.sent()) == "bbaa"


def test_a_triton_without_bulk_work_is_preferred() -> None:
    scene = Scene()
    for name in "ab":
        scene.triton(name, m=ONE)
    scene.enter("m", BULK)
    assert _places(scene.sent()) == "a"
    scene.enter_all(2, "m")
    assert _places(scene.sent()) == "bb"


def test_an_idle_instance_is_preferred_to_the_lowest_turn() -> None:
    scene = Scene()
    for name in "ab":
        scene.triton(name, m=ONE)
    scene.enter_all(4, "m")
    assert _places(scene.sent()) == "abab"


def test_among_idle_tritons_the_lowest_turn_is_preferred() -> None:
    scene = Scene()
    for place, name in enumerate("ab"):
        scene.triton(name, m=Capacity(2, 1, gpu=True))
        scene.admission.tritons[name].models["m"].turn = 1 - place
    scene.enter_all(4, "m")
    assert _places(scene.sent()) == "bbaa"


def test_tritons_of_one_place_rotate() -> None:
    scene = Scene()
    for name in "ab":
        scene.triton(name, m=ONE)
    places = ""
    for _ in range(4):
        scene.enter("m")
        sent = scene.sent()
        places += _places(sent)
        scene.end(*sent, after=1.0)
    assert places == "abab"


def test_a_triton_that_takes_no_calls_gets_none() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    scene.admission.tritons["a"].models["m"].takes_calls = False
    scene.enter("m")
    assert scene.sent() == []
    assert not scene.admission.models["m"].is_open


def test_a_returning_triton_still_counts_its_calls() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    scene.enter_all(2, "m")
    scene.sent()
    scene.admission.tritons["a"].models["m"].takes_calls = False
    scene.triton("a", m=ONE)
    scene.enter("m")
    assert scene.sent() == []


def test_a_call_that_ends_after_its_triton_left_is_removed() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    call = scene.enter("m")
    scene.sent()
    scene.admission.forget("a")
    scene.end(call)
    assert scene.admission.models["m"].scheduler.in_flight == 0


def test_half_a_share_is_half_of_the_bound() -> None:
    scene = Scene()
    scene.triton("a", m=Capacity(4, 1, gpu=True))
    its = scene.admission.models["m"]
    its.share = 0.5
    its.configure()
    scene.enter_all(9, "m")
    assert len(scene.sent()) == 4


@pytest.mark.parametrize(("cost", "sent"), [(4, 2), (2, 4), (0.1, 8)])
def test_a_share_bounds_executions_and_calls(cost: float, sent: int) -> None:
    scene = Scene()
    scene.model("m", DIVISIBLE)
    scene.triton("a", m=Capacity(2, 4, gpu=True))
    its = scene.admission.models["m"]
    its.share = 0.5
    its.configure()
    scene.enter_all(20, "m", cost=cost)
    begun = scene.sent()
    assert len(begun) == sent
    # What has ended takes no part of it.
    scene.end(*begun, after=0.1)
    assert len(scene.sent()) == sent


def test_a_frontend_without_a_share_has_one_call_at_a_time() -> None:
    scene = Scene()
    scene.triton("a", m=Capacity(4, 4, gpu=True))
    its = scene.admission.models["m"]
    its.share = 0.0
    its.configure()
    first, second = scene.enter_all(2, "m")
    assert scene.sent() == [first]
    scene.end(first)
    assert scene.sent() == [second]


@pytest.mark.parametrize(
    ("work", "capacity", "seconds", "sent"),
    [
        # Calls that are cut to executions, on the instances of processors: nothing waits in Triton.
        (DIVISIBLE, Capacity(2, 4), 0.3, 2),
        (DIVISIBLE, Capacity(2, 4), 0.05, 4),
        # With one instance it would idle between two executions, and calls that share one wait for each other.
        (DIVISIBLE, Capacity(1, 4), 0.3, 2),
        (Work(1.0), Capacity(2, 4), 0.3, 4),
        (DIVISIBLE, Capacity(1, 4), 1.1, 1),
        (Work(1.0), Capacity(1, 1), 0.3, 1),
        (Work(1.0), Capacity(1, 1), 0.05, 2),
        (DIVISIBLE, Capacity(2, 4, gpu=True), 0.3, 4),
    ],
)
def test_how_many_executions_are_in_flight(work: Work, capacity: Capacity, seconds: float, sent: int) -> None:
    scene = Scene()
    its = scene.model("m", work)
    scene.triton("a", m=capacity)
    its._seconds = seconds
    scene.enter_all(9, "m", cost=work.least)
    assert len(scene.sent()) == sent


def test_a_higher_tier_has_the_next_execution_to_itself() -> None:
    scene = Scene()
    its = scene.model("m", DIVISIBLE)
    scene.triton("a", m=Capacity(2, 4))
    its._seconds = 0.3
    scene.enter_all(9, "m", cost=4)
    assert len(scene.sent()) == 2
    scene.now += 0.01
    company = scene.enter("m", COMPANY, cost=1)
    assert scene.sent() == [company]


def test_short_texts_pass_a_waiting_long_one() -> None:
    scene = Scene()
    scene.model("m", DIVISIBLE)
    scene.triton("a", m=Capacity(2, 4, gpu=True))
    long = [scene.enter("m", cost=40, key="long") for _ in range(2)]
    short = [scene.enter("m", cost=4, key="short") for _ in range(2)]
    assert scene.sent() == [long[0], *short]


def test_a_long_text_fits_into_a_share() -> None:
    scene = Scene()
    scene.model("m", DIVISIBLE)
    scene.triton("a", m=Capacity(2, 4, gpu=True))
    its = scene.admission.models["m"]
    its.share = 0.9
    its.configure()
    small, long = scene.enter("m", cost=1), scene.enter("m", cost=40)
    assert scene.sent() == [small, long]


def test_an_aged_call_without_room_does_not_block_a_company_that_may_go_one_over_the_bound() -> None:
    scene = Scene(Rules(age_seconds=4))
    scene.triton("a", m=ONE)
    scene.enter_all(3, "m", FREE)
    assert len(scene.sent()) == 2
    scene.now = 5.0
    company = scene.enter("m", COMPANY)
    assert scene.sent() == [company]


def test_bulk_work_goes_when_a_triton_becomes_idle() -> None:
    scene = Scene(Rules(hold_seconds=5))
    scene.triton("a", m=ONE)
    scene.enter("m")
    scene.end(*scene.sent(), after=2.0)
    call = scene.enter("m", BULK)
    scene.sent()
    scene.end(call, after=1.0)
    waiting = scene.enter("m", BULK)
    assert scene.sent() == []
    assert scene.admission.next_change(scene.now, scene.admission.models.values()) == 7.0
    scene.now = 7.0
    assert scene.sent() == [waiting]


def test_without_waiting_calls_there_is_no_next_change() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    scene.enter("m")
    scene.end(*scene.sent(), after=2.0)
    assert math.isinf(scene.admission.next_change(scene.now, scene.admission.models.values()))
