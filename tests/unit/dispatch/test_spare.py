"""What bulk work may have: the time that others leave."""

import pytest

from frontend.dispatch.scheduler import BULK, Rules, Scheduler
from frontend.dispatch.spare import Spare
from frontend.dispatch.turns import Ticket

FREE = 3


def _scheduler(spare: Spare | None = None, *backends: str) -> Scheduler:
    scheduler = Scheduler(Rules(hold_seconds=5), spare=spare)
    for backend in backends or ("a",):
        scheduler.set_limit(backend, 4)
    return scheduler


def _enter(scheduler: Scheduler, tier: int, now: float) -> Ticket:
    ticket = Ticket("k", tier, None, now)
    scheduler.enter(ticket, now)
    return ticket


def _run(scheduler: Scheduler, tier: int, began: float, ended: float) -> Ticket:
    """One that is alone there, granted and done."""
    ticket = _enter(scheduler, tier, began)
    assert scheduler.grant(began) is ticket
    scheduler.leave(ticket, ended)
    return ticket


def test_bulk_work_has_every_slot_of_a_triton_that_nobody_has_used() -> None:
    scheduler = _scheduler()
    tickets = [_enter(scheduler, BULK, 0.0) for _ in range(5)]
    assert [scheduler.grant(0.0) for _ in range(5)] == [*tickets[:4], None]


def test_bulk_work_waits_until_a_triton_has_been_idle() -> None:
    scheduler = _scheduler()
    _run(scheduler, BULK, 0.0, 1.0)
    _run(scheduler, FREE, 1.0, 2.0)
    ticket = _enter(scheduler, BULK, 3.0)
    assert scheduler.grant(6.9) is None
    assert scheduler.next_change(3.0) == 7.0
    assert scheduler.grant(7.0) is ticket


def test_bulk_work_waits_for_another_model_of_the_same_triton_too() -> None:
    spare = Spare(5)
    one, other = _scheduler(spare), _scheduler(spare)
    _run(one, FREE, 0.0, 1.0)
    _run(other, BULK, 6.0, 6.1)
    running = _enter(one, FREE, 7.0)
    assert one.grant(7.0) is running
    _enter(other, BULK, 20.0)
    assert other.grant(20.0) is None
    assert other.next_change(20.0) == 25.0


def test_bulk_work_has_a_small_part_of_the_time_of_a_triton_that_is_never_idle() -> None:
    scheduler, seconds = _scheduler(), 0.0
    _run(scheduler, FREE, 0.0, 0.1)
    now = 0.1
    while now < 1000:
        if scheduler.waiting(BULK) == 0:
            _enter(scheduler, BULK, now)
        if (ticket := scheduler.grant(now)) is not None:
            scheduler.leave(ticket, now + 1.0)
            seconds += 1.0
            now += 1.0
        _run_others(scheduler, now)
        now += 0.5
    assert seconds / now == pytest.approx(0.02, rel=0.05)


def _run_others(scheduler: Scheduler, now: float) -> None:
    ticket = _enter(scheduler, FREE, now)
    assert scheduler.grant(now) is ticket
    scheduler.leave(ticket, now + 0.1)


def test_of_a_triton_that_is_not_idle_bulk_work_has_one_call_at_a_time() -> None:
    scheduler = _scheduler()
    _run(scheduler, FREE, 0.0, 0.1)
    first, _ = _enter(scheduler, BULK, 1.0), _enter(scheduler, BULK, 1.0)
    assert [scheduler.grant(1.0), scheduler.grant(1.0)] == [first, None]


def test_nobody_goes_behind_bulk_work_where_another_triton_has_none() -> None:
    scheduler = _scheduler(None, "a", "b")
    bulk = _enter(scheduler, BULK, 0.0)
    assert scheduler.grant(0.0) is bulk
    others = [_enter(scheduler, FREE, 0.0) for _ in range(4)]
    assert [scheduler.grant(0.0) for _ in others] == others
    assert bulk.backend not in {ticket.backend for ticket in others}


def test_bulk_work_does_not_age() -> None:
    scheduler = _scheduler()
    _enter(scheduler, BULK, 0.0)
    for _ in range(20):
        _run(scheduler, FREE, 100.0, 100.0)
    assert scheduler.waiting(BULK) == 1


def test_what_another_frontend_runs_keeps_bulk_work_away() -> None:
    spare = Spare(5)
    scheduler = _scheduler(spare)
    _run(scheduler, BULK, 0.0, 1.0)
    spare.note_others(["a"], 2.0)
    _enter(scheduler, BULK, 2.0)
    assert scheduler.grant(6.9) is None
    assert scheduler.grant(7.0) is not None


def test_bulk_work_is_not_what_a_frontend_wants_of_the_slots() -> None:
    scheduler = _scheduler()
    _enter(scheduler, BULK, 0.0)
    assert (scheduler.others, scheduler.is_used(0.0)) == (0, False)
    _run(scheduler, FREE, 1.0, 2.0)
    assert (scheduler.is_used(6.9), scheduler.is_used(7.0)) == (True, False)


def test_a_triton_that_has_gone_is_forgotten() -> None:
    spare = Spare(5)
    spare.note_others(["a"], 0.0)
    spare.forget("a")
    assert spare.is_free("a", 1.0)
    assert len(spare._uses) == 1


def test_calls_that_outlive_their_triton_leave_the_next_one_of_its_name_to_bulk_work() -> None:
    spare = Spare(5)
    spare.begin("a", bulk=False)
    spare.forget("a")
    spare.end("a", bulk=False, began=0.0, now=1.0)
    spare.begin("a", bulk=False)
    assert not spare.is_free("a", 100.0)
    spare.end("a", bulk=False, began=100.0, now=101.0)
    assert spare.is_free("a", 200.0)


def test_a_triton_that_is_back_before_its_calls_have_ended_is_not_forgotten_with_them() -> None:
    spare = Spare(5)
    spare.begin("a", bulk=True)
    spare.forget("a")
    spare.begin("a", bulk=False)
    spare.end("a", bulk=True, began=0.0, now=1.0)
    assert not spare.is_free("a", 100.0)
