"""The rules of the order of a queue."""

from collections.abc import Mapping

import pytest

from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules, Scheduler
from tests.unit.dispatch.calls import BULK, COMPANY, FREE, PRO, granted


def _scheduler(places: int = 1, floors: Mapping[str, int] | None = None, **rules: float) -> Scheduler:
    scheduler = Scheduler(Rules(**rules), floors)  # type: ignore[arg-type]
    scheduler.bound = places
    return scheduler


def _enter(
    scheduler: Scheduler, key: str, priority: int, now: float = 0.0, owner: str | None = None, cost: float = 1.0
) -> Call:
    call = Call(key, priority, owner, now, cost)
    scheduler.enter(call, now)
    return call


def _order(scheduler: Scheduler, now: float = 0.0) -> list[str]:
    """The keys in the order in which their calls are sent, one at a time."""
    keys = []
    while (call := granted(scheduler, now)) is not None:
        keys.append(str(call.key))
        scheduler.leave(call, now)
    return keys


def test_priorities_go_in_order() -> None:
    scheduler = _scheduler()
    for key, priority in (("f", FREE), ("p", PRO), ("c", COMPANY), ("p2", PRO)):
        _enter(scheduler, key, priority)
    assert _order(scheduler) == ["c", "p", "p2", "f"]


def test_keys_of_a_priority_take_turns() -> None:
    scheduler = _scheduler()
    for key in "aaabbc":
        _enter(scheduler, key, FREE)
    assert "".join(_order(scheduler)) == "abcaba"


def test_an_aged_call_goes_once_in_five() -> None:
    scheduler = _scheduler(age_seconds=4)
    for number in range(4):
        _enter(scheduler, f"f{number}", FREE, 0.0)
    for number in range(12):
        _enter(scheduler, f"c{number}", COMPANY, 5.0)
    order = _order(scheduler, 5.0)
    assert [place for place, key in enumerate(order[:15]) if key.startswith("f")] == [0, 5, 10]


@pytest.mark.parametrize(("now", "order"), [(3.9, ["c", "f"]), (4.0, ["f", "c"])])
def test_a_call_is_aged_from_the_second_that_was_set(now: float, order: list[str]) -> None:
    scheduler = _scheduler(age_seconds=4)
    _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 3.0)
    assert _order(scheduler, now) == order


def test_ageing_respects_the_key_share() -> None:
    scheduler = _scheduler(4, age_seconds=4, aged_every=1, key_share=0.25)
    for _ in range(2):
        _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 5.0)
    sent = [granted(scheduler, 5.0) for _ in range(3)]
    assert [call.key if call else None for call in sent] == ["f", "c", None]


def test_the_owner_furthest_below_its_floor_goes_first() -> None:
    scheduler = _scheduler(4, floors={"small": 2, "large": 10})
    for owner in ("small", "small", "large", "large"):
        _enter(scheduler, owner, FREE, owner=owner)
    sent = [granted(scheduler, 0.0) for _ in range(4)]
    assert [call.owner if call else None for call in sent] == ["small", "large", "large", "small"]


def test_an_owner_below_its_floor_goes_before_every_priority() -> None:
    scheduler = _scheduler(2, floors={"acme": 1})
    _enter(scheduler, "c", COMPANY, owner="without a floor")
    _enter(scheduler, "a", FREE, owner="acme")
    assert _order(scheduler) == ["a", "c"]


def test_places_of_an_active_owner_are_held_back_until_it_was_idle() -> None:
    scheduler = _scheduler(2, floors={"acme": 2}, hold_seconds=5)
    own = _enter(scheduler, "a", COMPANY, owner="acme")
    scheduler.leave(own, 0.0)
    _enter(scheduler, "f", FREE)
    assert granted(scheduler, 4.9) is None
    assert scheduler.next_change(4.9) == 5.0
    assert granted(scheduler, 5.0) is not None


def test_a_queue_is_quiet_two_seconds_after_the_last_call_of_rank_0() -> None:
    scheduler = _scheduler(2)
    scheduler.enter(Call("file", FREE, None, 0.0, rank=1), 0.0)
    assert scheduler.is_quiet(0.0)
    clip = _enter(scheduler, "clip", FREE, 1.0)
    assert not scheduler.is_quiet(9.0)
    scheduler.leave(clip, 10.0)
    assert not scheduler.is_quiet(11.0)
    assert scheduler.is_quiet(12.5)


def test_bulk_work_comes_last_and_does_not_age() -> None:
    scheduler = _scheduler(age_seconds=4, aged_every=1)
    _enter(scheduler, "b", BULK, 0.0)
    for _ in range(3):
        _enter(scheduler, "f", FREE, 100.0)
    assert _order(scheduler, 100.0) == ["f", "f", "f", "b"]


def test_bulk_work_does_not_make_a_model_used() -> None:
    scheduler = _scheduler(hold_seconds=5)
    _enter(scheduler, "b", BULK, 0.0)
    assert (scheduler.others, scheduler.is_used(0.0)) == (0, False)
    call = _enter(scheduler, "f", FREE, 1.0)
    assert (scheduler.others, scheduler.is_used(1.0)) == (1, True)
    scheduler.leave(call, 2.0)
    assert (scheduler.is_used(6.9), scheduler.is_used(7.0)) == (True, False)


def test_without_ageing_the_highest_priority_goes_first() -> None:
    scheduler = _scheduler(age_seconds=4)
    old, company = _enter(scheduler, "f", FREE, 0.0), _enter(scheduler, "c", COMPANY, 5.0)
    assert scheduler.next(5.0) == (0, old)
    assert scheduler.next(5.0, by_age=False) == (COMPANY, company)


def test_calls_to_other_models_that_went_first_count_for_those_that_age() -> None:
    scheduler = _scheduler(2, age_seconds=4)
    first, second = (_enter(scheduler, "f", FREE, 0.0) for _ in range(2))
    assert granted(scheduler, 5.0) is first
    assert scheduler.next(5.0) == (FREE, second)
    scheduler.passed_over(5)
    assert scheduler.next(5.0) == (0, second)
    # Not before those of its own model that have a higher priority.
    company = _enter(scheduler, "c", COMPANY, 5.0)
    assert scheduler.next(5.0) == (COMPANY, company)


def test_the_work_before_a_call_is_that_of_its_priority_and_those_above() -> None:
    scheduler = _scheduler()
    for priority, cost in ((COMPANY, 1.0), (PRO, 2.0), (FREE, 4.0), (BULK, 8.0)):
        _enter(scheduler, "k", priority, cost=cost)
    assert [scheduler.work_before(Call("k", each, None, 0.0)) for each in (COMPANY, PRO, FREE, BULK)] == [1, 3, 7, 15]


def test_of_other_keys_as_much_work_goes_before_a_call_as_of_its_own() -> None:
    scheduler = _scheduler()
    for key, calls in (("greedy", 100), ("modest", 1)):
        for _ in range(calls):
            _enter(scheduler, key, FREE)
    keys = ("new", "modest", "greedy")
    assert [scheduler.work_before(Call(key, FREE, None, 0.0)) for key in keys] == [2, 3, 101]
