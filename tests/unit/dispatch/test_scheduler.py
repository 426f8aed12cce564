"""What the order of a queue promises, held by rules, by random histories and by a simulator."""

import heapq
import itertools
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from frontend.dispatch.scheduler import Rules, Scheduler
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


def test_nothing_is_aged_before_its_time() -> None:
    scheduler = _scheduler(age_seconds=4)
    _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 3.0)
    assert _order(scheduler, 3.9) == ["c", "f"]


def test_a_ticket_is_aged_from_the_second_that_was_set() -> None:
    scheduler = _scheduler(age_seconds=4)
    _enter(scheduler, "f", FREE, 0.0)
    _enter(scheduler, "c", COMPANY, 3.0)
    assert _order(scheduler, 4.0) == ["f", "c"]


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


def test_the_backend_with_the_most_free_slots_is_chosen() -> None:
    scheduler = _scheduler(1)
    scheduler.set_limit("b", 3)
    backends = []
    for _ in range(4):
        _enter(scheduler, "k", FREE)
        ticket = scheduler.grant(0.0)
        assert ticket is not None
        backends.append(ticket.backend)
    assert Counter(backends) == {"b": 3, "a": 1}
    assert backends[:2] == ["b", "b"]


def test_a_backend_that_is_out_gets_nothing_and_what_it_has_is_given_back() -> None:
    scheduler = _scheduler(2)
    _enter(scheduler, "k", FREE)
    running = scheduler.grant(0.0)
    assert running is not None
    scheduler.set_limit("a", 0)
    _enter(scheduler, "k", FREE)
    assert scheduler.grant(0.0) is None
    scheduler.leave(running, 1.0)
    scheduler.set_limit("a", 2)
    assert scheduler.free == 2


def test_leaving_twice_gives_back_one_slot() -> None:
    scheduler = _scheduler(1)
    _enter(scheduler, "k", FREE)
    ticket = scheduler.grant(0.0)
    assert ticket is not None
    scheduler.leave(ticket, 0.0)
    scheduler.leave(ticket, 0.0)
    assert scheduler.free == 1


def test_an_owner_below_its_floor_goes_before_every_tier() -> None:
    scheduler = _scheduler(2, floors={"acme": 1})
    _enter(scheduler, "c", COMPANY)
    _enter(scheduler, "a", FREE, owner="acme")
    first = scheduler.grant(0.0)
    assert first is not None
    assert first.key == "a"


def test_slots_of_an_active_owner_are_held_back_until_it_was_idle() -> None:
    scheduler = _scheduler(2, floors={"acme": 2}, hold_seconds=5)
    own = _enter(scheduler, "a", COMPANY, owner="acme")
    scheduler.leave(own, 0.0)
    _enter(scheduler, "f", FREE)
    assert scheduler.grant(4.9) is None
    assert scheduler.next_change(4.9) == 5.0
    assert scheduler.grant(5.0) is not None


def test_an_owner_that_was_never_seen_holds_nothing() -> None:
    scheduler = _scheduler(1, floors={"acme": 1})
    _enter(scheduler, "f", FREE)
    assert scheduler.grant(0.0) is not None


def test_the_expected_wait_counts_what_goes_before() -> None:
    scheduler = _scheduler(2)
    for _ in range(2):
        _enter(scheduler, "k", PRO)
    running = [scheduler.grant(0.0), scheduler.grant(0.0)]
    assert running[0] is not None
    scheduler.leave(running[0], 3.0)
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
    first = scheduler.grant(0.0)
    assert first is not None
    scheduler.leave(first, 3.0)
    for _ in range(4):
        _enter(scheduler, "k", FREE, cost=10.0)
    scheduler.grant(3.0)
    scheduler.grant(3.0)
    assert scheduler.expected_wait(FREE) == pytest.approx(3 * 3.0 / 2)


class Histories(RuleBasedStateMachine):
    """Random callers, backends and floors; the model is the plain list of what waits and what runs."""

    def __init__(self) -> None:
        super().__init__()
        self.floors = {"acme": 2, "beta": 1}
        promised = Rules(age_seconds=4, aged_every=5, hold_seconds=5)
        self.scheduler = Scheduler(promised, self.floors)
        self.limits = {"a": 2, "b": 3}
        for name, limit in self.limits.items():
            self.scheduler.set_limit(name, limit)
        self.now = 0.0
        self.waiting: list[Ticket] = []
        self.running: list[Ticket] = []
        self.seen: dict[str, float] = {}
        self.aged_before = 99

    def _held(self) -> int:
        held = 0
        for owner, floor in self.floors.items():
            if self.seen.get(owner, -99) > self.now - 5:
                held += max(0, floor - sum(ticket.owner == owner for ticket in self.running))
        return held

    def _free(self) -> int:
        used = Counter(ticket.backend for ticket in self.running)
        return sum(max(0, limit - used[name]) for name, limit in self.limits.items())

    @rule(seconds=strategies.floats(0, 3))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        key=strategies.sampled_from("wxyz"),
        tier=strategies.integers(1, 3),
        owner=strategies.sampled_from([None, "acme", "beta"]),
    )
    def a_call_enters(self, key: str, tier: int, owner: str | None) -> None:
        ticket = Ticket(key, tier, owner, self.now)
        self.scheduler.enter(ticket, self.now)
        self.waiting.append(ticket)
        if owner:
            self.seen[owner] = self.now

    @precondition(lambda self: self.waiting)
    @rule(choice=strategies.randoms())
    def a_caller_gives_up(self, choice: random.Random) -> None:
        ticket = self.waiting.pop(choice.randrange(len(self.waiting)))
        self.scheduler.leave(ticket, self.now)

    @precondition(lambda self: self.running)
    @rule(choice=strategies.randoms())
    def a_call_ends(self, choice: random.Random) -> None:
        ticket = self.running.pop(choice.randrange(len(self.running)))
        self.scheduler.leave(ticket, self.now)
        if ticket.owner:
            self.seen[str(ticket.owner)] = self.now

    @rule(name=strategies.sampled_from("ab"), limit=strategies.integers(0, 4))
    def a_backend_changes(self, name: str, limit: int) -> None:
        self.limits[name] = limit
        self.scheduler.set_limit(name, limit)

    @rule()
    def a_slot_is_granted(self) -> None:
        used = Counter(ticket.backend for ticket in self.running)
        below = [
            t
            for t in self.waiting
            if t.owner and sum(r.owner == t.owner for r in self.running) < self.floors[str(t.owner)]
        ]
        free, held = self._free(), self._held()
        ticket = self.scheduler.grant(self.now)
        if ticket is None:
            # Work conserving: a slot stays free only if nobody waits or a floor holds it.
            assert not self.waiting or free == 0 or (not below and free <= held)
            return
        assert ticket in self.waiting
        assert used[ticket.backend] < self.limits[ticket.backend]
        most = max(limit - used[name] for name, limit in self.limits.items())
        assert self.limits[ticket.backend] - used[ticket.backend] == most
        if below:
            assert ticket in below
        else:
            assert free > held
            self._check_order(ticket)
        self.waiting.remove(ticket)
        self.running.append(ticket)

    def _check_order(self, ticket: Ticket) -> None:
        best = min(other.tier for other in self.waiting)
        oldest = self.waiting[0]
        aged = self.now - oldest.arrived >= 4
        if aged and self.aged_before >= 4:
            assert ticket is oldest
            self.aged_before = 0
            return
        self.aged_before += 1
        assert ticket.tier == best
        same = [other for other in self.waiting if (other.key, other.tier) == (ticket.key, ticket.tier)]
        assert ticket is same[0]

    @invariant()
    def counters_agree_with_what_is_there(self) -> None:
        assert self.scheduler.waiting() == len(self.waiting)
        for tier in (1, 2, 3):
            assert self.scheduler.waiting(tier) == sum(ticket.tier == tier for ticket in self.waiting)
        for key in "wxyz":
            assert self.scheduler.waiting_of(key) == sum(ticket.key == key for ticket in self.waiting)
        assert self.scheduler.free == self._free()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


@dataclass
class Simulation:
    """Closed-loop callers over one scheduler, on a clock of events; ``waits`` are seconds by key."""

    scheduler: Scheduler
    service: float = 0.1
    seed: int = 1
    waits: dict[str, list[float]] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)

    def run(self, callers: list[tuple[str, int, str | None, int]], seconds: float) -> None:
        """``callers`` are (key, tier, owner, how many)."""
        rng, numbers = random.Random(self.seed), itertools.count()
        events: list[tuple[float, int, Callable[[float], None]]] = []

        def later(when: float, what: Callable[[float], None]) -> None:
            heapq.heappush(events, (when, next(numbers), what))

        def arrive(key: str, tier: int, owner: str | None) -> Callable[[float], None]:
            def enter(now: float) -> None:
                self.scheduler.enter(Ticket((key, tier, owner), tier, owner, now), now)

            return enter

        def end(ticket: Ticket) -> Callable[[float], None]:
            def leave(now: float) -> None:
                self.scheduler.leave(ticket, now)
                arrive(*ticket.key)(now)  # type: ignore[misc]

            return leave

        for key, tier, owner, count in callers:
            for _ in range(count):
                later(rng.random() * self.service, arrive(key, tier, owner))
        while events and events[0][0] < seconds:
            now, _, event = heapq.heappop(events)
            event(now)
            while (ticket := self.scheduler.grant(now)) is not None:
                key = ticket.key[0]  # type: ignore[index]
                self.waits.setdefault(key, []).append(now - ticket.arrived)
                self.served[key] += 1
                later(now + rng.expovariate(1 / self.service), end(ticket))


def test_under_a_flood_company_goes_before_pro_before_free_and_free_is_served() -> None:
    simulation = Simulation(_scheduler(8))
    flood: list[tuple[str, int, str | None, int]] = [(f"free{n}", FREE, None, 4) for n in range(100)]
    simulation.run([*flood, ("pro", PRO, None, 6), ("company", COMPANY, None, 4)], 120)
    free = [wait for key, its in simulation.waits.items() if key.startswith("free") for wait in its]
    company, pro = (statistics.mean(simulation.waits[key]) for key in ("company", "pro"))
    assert company < pro < statistics.mean(free)
    assert company < 0.1
    share = len(free) / sum(simulation.served.values())
    assert share >= 0.19


def test_a_free_key_is_served_within_the_ageing_bound_under_a_company_flood() -> None:
    simulation = Simulation(_scheduler(4))
    simulation.run([("company", COMPANY, None, 100), ("free", FREE, None, 1)], 120)
    # 4 s to age, and then at most five grants of 0.1 s on four slots; the flood itself waits less than 4 s.
    assert max(simulation.waits["free"]) < 4.5
    assert simulation.served["free"] >= 25


def test_two_equal_keys_are_served_within_a_tenth_of_each_other() -> None:
    simulation = Simulation(_scheduler(4))
    simulation.run([("greedy", PRO, None, 64), ("modest", PRO, None, 8)], 60)
    served = simulation.served
    assert abs(served["greedy"] - served["modest"]) / served["modest"] < 0.1


@pytest.mark.parametrize("flooding", [COMPANY, FREE])
def test_a_floor_is_held_under_any_flood(flooding: int) -> None:
    simulation = Simulation(_scheduler(8, floors={"acme": 3}, hold_seconds=5))
    simulation.run([("flood", flooding, None, 300), ("acme", FREE, "acme", 3)], 60)
    assert max(simulation.waits["acme"][3:]) == 0.0


def test_a_floor_that_is_not_used_is_lent() -> None:
    simulation = Simulation(_scheduler(8, floors={"acme": 3}, hold_seconds=5))
    simulation.run([("flood", FREE, None, 300)], 30)
    assert simulation.served["flood"] == pytest.approx(8 * 30 / 0.1, rel=0.1)
