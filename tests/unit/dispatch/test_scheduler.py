"""What the order of a queue promises, rule by rule."""

from collections.abc import Mapping

import pytest

from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.dispatch.slots import Nearness, Slots
from frontend.dispatch.turns import Ticket

COMPANY, PRO, FREE = 1, 2, 3


def _scheduler(slots: int = 1, floors: Mapping[str, int] | None = None, **rules: float) -> Scheduler:
    scheduler = Scheduler(Rules(**rules), floors)  # type: ignore[arg-type]
    scheduler.set_limit("a", slots)
    return scheduler


def _enter(
    scheduler: Scheduler, key: str, tier: int, now: float = 0.0, owner: str | None = None, cost: float = 1.0
) -> Ticket:
    ticket = Ticket(key, tier, owner, now, cost)
    scheduler.enter(ticket, now)
    return ticket


def _granted(scheduler: Scheduler, now: float = 0.0) -> Ticket:
    ticket = scheduler.grant(now)
    assert ticket is not None
    return ticket


def _order(scheduler: Scheduler, now: float = 0.0) -> list[str]:
    """The keys in the order in which they are granted when one leaves after the other."""
    keys = []
    while (ticket := scheduler.grant(now)) is not None:
        keys.append(str(ticket.key))
        scheduler.leave(ticket, now)
    return keys


def test_tiers_go_in_order() -> None:
    scheduler = _scheduler()
    for key, tier in (("f", FREE), ("p", PRO), ("c", COMPANY), ("p2", PRO)):
        _enter(scheduler, key, tier)
    assert _order(scheduler) == ["c", "p", "p2", "f"]


def test_keys_of_a_tier_take_turns() -> None:
    scheduler = _scheduler()
    for key in "aaabbc":
        _enter(scheduler, key, FREE)
    assert "".join(_order(scheduler)) == "abcaba"


def test_an_aged_ticket_gets_one_grant_in_five() -> None:
    scheduler = _scheduler(age_seconds=4)
    for number in range(4):
        _enter(scheduler, f"f{number}", FREE, 0.0)
    for number in range(12):
        _enter(scheduler, f"c{number}", COMPANY, 5.0)
    order = _order(scheduler, 5.0)
    assert [place for place, key in enumerate(order[:15]) if key.startswith("f")] == [0, 5, 10]


@pytest.mark.parametrize(("now", "order"), [(3.9, ["c", "f"]), (4.0, ["f", "c"])])
def test_a_ticket_is_aged_from_the_second_that_was_set(now: float, order: list[str]) -> None:
    scheduler = _scheduler(age_seconds=4)
    _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 3.0)
    assert _order(scheduler, now) == order


def test_age_does_not_take_a_key_beyond_its_share() -> None:
    scheduler = _scheduler(4, age_seconds=4, aged_every=1, key_share=0.25)
    for _ in range(2):
        _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 5.0)
    granted = [scheduler.grant(5.0) for _ in range(3)]
    assert [ticket.key if ticket else None for ticket in granted] == ["f", "c", None]


def test_of_owners_below_their_floors_goes_first_who_has_the_least_part_of_it() -> None:
    scheduler = _scheduler(4, floors={"small": 2, "large": 10})
    for owner in ("small", "small", "large", "large"):
        _enter(scheduler, owner, FREE, owner=owner)
    granted = [scheduler.grant(0.0) for _ in range(4)]
    assert [ticket.owner if ticket else None for ticket in granted] == ["small", "large", "large", "small"]


def test_leaving_twice_gives_back_one_slot() -> None:
    scheduler = _scheduler(1)
    _enter(scheduler, "k", FREE)
    ticket = _granted(scheduler)
    scheduler.leave(ticket, 0.0)
    scheduler.leave(ticket, 0.0)
    assert scheduler.free == 1


def test_an_owner_below_its_floor_goes_before_every_tier() -> None:
    scheduler = _scheduler(2, floors={"acme": 1})
    _enter(scheduler, "c", COMPANY)
    _enter(scheduler, "a", FREE, owner="acme")
    first = _granted(scheduler)
    assert first.key == "a"


def test_slots_of_an_active_owner_are_held_back_until_it_was_idle() -> None:
    scheduler = _scheduler(2, floors={"acme": 2}, hold_seconds=5)
    own = _enter(scheduler, "a", COMPANY, owner="acme")
    scheduler.leave(own, 0.0)
    _enter(scheduler, "f", FREE)
    assert scheduler.grant(4.9) is None
    assert scheduler.next_change(4.9) == 5.0
    assert scheduler.grant(5.0) is not None


def test_the_expected_wait_counts_what_goes_before() -> None:
    scheduler = _scheduler(2)
    for _ in range(2):
        _enter(scheduler, "k", PRO)
    first, _ = _granted(scheduler), _granted(scheduler)
    scheduler.leave(first, 3.0)
    _enter(scheduler, "k", PRO)
    scheduler.grant(3.0)
    for tier in (COMPANY, PRO, FREE, FREE):
        _enter(scheduler, "k", tier)
    assert scheduler.expected_wait(COMPANY) == pytest.approx(2 * 3.0 / 2)
    assert scheduler.expected_wait(FREE) == pytest.approx(5 * 3.0 / 2)


def test_calls_as_large_as_a_piece_are_expected_two_at_a_time_to_a_lane_whatever_the_slots() -> None:
    scheduler = _scheduler(8)
    scheduler.piece = 10.0
    _enter(scheduler, "k", FREE, cost=10.0)
    first = _granted(scheduler)
    scheduler.leave(first, 3.0)
    for _ in range(4):
        _enter(scheduler, "k", FREE, cost=10.0)
    scheduler.grant(3.0)
    scheduler.grant(3.0)
    assert scheduler.expected_wait(FREE) == pytest.approx(3 * 3.0 / 2)


def test_calls_as_large_as_a_piece_go_two_at_a_time() -> None:
    scheduler = _scheduler(8)
    scheduler.piece = 10.0
    for _ in range(3):
        _enter(scheduler, "k", FREE, cost=10.0)
    assert _granted(scheduler) is not _granted(scheduler)
    assert scheduler.grant(0.0) is None


def test_calls_as_large_as_a_piece_wait_until_all_that_went_together_have_ended() -> None:
    scheduler = _scheduler(8)
    scheduler.piece = 10.0
    for _ in range(4):
        _enter(scheduler, "k", FREE, cost=10.0)
    first, second = _granted(scheduler), _granted(scheduler)
    scheduler.leave(first, 3.0)
    assert scheduler.grant(3.0) is None
    scheduler.leave(second, 3.0)
    assert _granted(scheduler, 3.0) is not _granted(scheduler, 3.0)


def test_a_call_as_large_as_a_piece_that_comes_behind_another_waits_for_its_end() -> None:
    scheduler = _scheduler(8)
    scheduler.piece = 10.0
    _enter(scheduler, "k", FREE, cost=10.0)
    running = _granted(scheduler)
    _enter(scheduler, "k", FREE, cost=10.0)
    assert scheduler.grant(0.1) is None
    scheduler.leave(running, 2.0)
    assert scheduler.grant(2.0) is not None


def test_calls_as_large_as_a_piece_wait_behind_those_on_several_lanes() -> None:
    scheduler = Scheduler(Rules())
    scheduler.set_limit("a", 8, lanes=2)
    scheduler.piece = 10.0
    for _ in range(4):
        _enter(scheduler, "k", FREE, cost=10.0)
    assert [scheduler.grant(float(now)) is not None for now in range(4)] == [True] * 4


def test_calls_that_come_one_by_one_go_to_each_backend_in_turn() -> None:
    scheduler, used = _scheduler(4), []
    scheduler.set_limit("b", 4)
    for _ in range(4):
        _enter(scheduler, "k", FREE)
        ticket = _granted(scheduler)
        used.append(ticket.backend)
        scheduler.leave(ticket, 0.0)
    assert used == ["a", "b", "a", "b"]


def test_a_backend_that_is_near_goes_before_one_with_more_free_slots() -> None:
    scheduler = _scheduler(1)
    scheduler.set_limit("b", 8, nearness=Nearness.FAR)
    for _ in range(2):
        _enter(scheduler, "k", FREE)
    assert [_granted(scheduler).backend for _ in range(2)] == ["a", "b"]


def test_a_home_goes_before_one_with_more_free_slots_while_it_has_a_lane_free() -> None:
    scheduler = Scheduler(Rules())
    scheduler.set_limit("home", 4, 2, Nearness.HOME)
    scheduler.set_limit("other", 8)
    for _ in range(4):
        _enter(scheduler, "k", FREE)
    assert [_granted(scheduler).backend for _ in range(4)] == ["home", "home", "other", "other"]


def test_a_backend_that_is_dropped_has_no_more_calls_and_is_forgotten_with_its_last() -> None:
    scheduler = _scheduler(2)
    _enter(scheduler, "k", FREE)
    running = _granted(scheduler)
    scheduler.drop("a")
    _enter(scheduler, "k", FREE)
    assert scheduler.grant(0.0) is None
    assert not scheduler.is_open
    assert scheduler.slots == 0
    scheduler.leave(running, 1.0)
    assert not scheduler._backends


def test_a_backend_that_comes_back_counts_the_calls_that_it_still_has() -> None:
    scheduler = _scheduler(1)
    _enter(scheduler, "k", FREE)
    _granted(scheduler)
    scheduler.drop("a")
    scheduler.set_limit("a", 1)
    _enter(scheduler, "k", FREE)
    assert scheduler.grant(0.0) is None


def test_it_is_quiet_some_seconds_after_the_last_ticket_that_is_not_of_a_later_rank() -> None:
    scheduler = _scheduler(2)
    scheduler.enter(Ticket("file", FREE, None, 0.0, rank=1), 0.0)
    assert scheduler.is_quiet(0.0)
    clip = _enter(scheduler, "clip", FREE, 1.0)
    assert not scheduler.is_quiet(9.0)
    scheduler.leave(clip, 10.0)
    assert not scheduler.is_quiet(11.0)
    assert scheduler.is_quiet(12.5)


def test_a_backend_whose_limit_fell_below_its_calls_has_none_free_and_not_less() -> None:
    assert Slots(limit=1, running=3).free == 0
