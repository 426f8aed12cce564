"""The order of a queue, tested by random histories and by a simulation."""

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

from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules, Scheduler
from tests.unit.dispatch.calls import COMPANY, FREE, PRO, granted


class Histories(RuleBasedStateMachine):
    """Random calls, bounds and floors. The model is a list of waiting and one of running calls."""

    def __init__(self) -> None:
        super().__init__()
        self.floors = {"acme": 2, "beta": 1}
        promised = Rules(age_seconds=4, aged_every=5, hold_seconds=5)
        self.scheduler = Scheduler(promised, self.floors)
        self.scheduler.bound = 5
        self.now = 0.0
        self.waiting: list[Call] = []
        self.running: list[Call] = []
        self.seen: dict[str, float] = {}
        self.aged_before = 99

    def _kept_slots(self) -> int:
        held = 0
        for owner, floor in self.floors.items():
            if self.seen.get(owner, -99) > self.now - 5:
                held += max(0, floor - sum(call.owner == owner for call in self.running))
        return held

    def _free(self) -> int:
        return max(0, self.scheduler.bound - len(self.running))

    @rule(seconds=strategies.floats(0, 3))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        key=strategies.sampled_from("wxyz"),
        priority=strategies.integers(1, 3),
        owner=strategies.sampled_from([None, "acme", "beta"]),
    )
    def a_call_enters(self, key: str, priority: int, owner: str | None) -> None:
        call = Call(key, priority, owner, self.now)
        self.scheduler.enter(call, self.now)
        self.waiting.append(call)
        if owner:
            self.seen[owner] = self.now

    @precondition(lambda self: self.waiting)
    @rule(choice=strategies.randoms())
    def a_caller_gives_up(self, choice: random.Random) -> None:
        call = self.waiting.pop(choice.randrange(len(self.waiting)))
        self.scheduler.leave(call, self.now)

    @precondition(lambda self: self.running)
    @rule(choice=strategies.randoms())
    def a_call_ends(self, choice: random.Random) -> None:
        call = self.running.pop(choice.randrange(len(self.running)))
        self.scheduler.leave(call, self.now)
        if call.owner:
            self.seen[str(call.owner)] = self.now

    @rule(places=strategies.integers(0, 8))
    def the_bound_changes(self, places: int) -> None:
        self.scheduler.bound = places

    @rule()
    def a_call_is_sent(self) -> None:
        below = [
            t
            for t in self.waiting
            if t.owner and sum(r.owner == t.owner for r in self.running) < self.floors[str(t.owner)]
        ]
        free, held = self._free(), self._kept_slots()
        call = granted(self.scheduler, self.now)
        if call is None:
            # Work conserving: a place stays free only if nobody waits or a floor holds it.
            assert not self.waiting or free == 0 or (not below and free <= held)
            return
        assert call in self.waiting
        if below:
            assert call in below
            self.aged_before += 1
        else:
            assert free > held
            self._check_order(call)
        self.waiting.remove(call)
        self.running.append(call)

    def _check_order(self, call: Call) -> None:
        best = min(other.priority for other in self.waiting)
        oldest = self.waiting[0]
        aged = self.now - oldest.arrived >= 4
        if aged and self.aged_before >= 4:
            assert call is oldest
            self.aged_before = 0
            return
        self.aged_before += 1
        assert call.priority == best
        same = [other for other in self.waiting if (other.key, other.priority) == (call.key, call.priority)]
        assert call is same[0]

    @invariant()
    def counters_agree_with_what_is_there(self) -> None:
        assert self.scheduler.waits == len(self.waiting)
        for priority in (1, 2, 3):
            assert self.scheduler.waiting(priority) == sum(call.priority == priority for call in self.waiting)
        for key in "wxyz":
            assert self.scheduler.waiting_of(key) == sum(call.key == key for call in self.waiting)
        assert self.scheduler.in_flight == len(self.running)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def _scheduler(places: int, floors: Mapping[str, int] | None = None) -> Scheduler:
    scheduler = Scheduler(Rules(), floors)
    scheduler.bound = places
    return scheduler


@dataclass
class Simulation:
    """Closed-loop callers of one scheduler with simulated time; ``waits`` are seconds by key."""

    scheduler: Scheduler
    service: float = 0.1
    seed: int = 1
    waits: dict[str, list[float]] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)

    def run(self, callers: list[tuple[str, int, str | None, int]], seconds: float) -> None:
        """``callers`` are (key, priority, owner, number)."""
        rng, numbers = random.Random(self.seed), itertools.count()
        events: list[tuple[float, int, Callable[[float], None]]] = []

        def later(when: float, what: Callable[[float], None]) -> None:
            heapq.heappush(events, (when, next(numbers), what))

        def arrive(key: str, priority: int, owner: str | None) -> Callable[[float], None]:
            def enter(now: float) -> None:
                self.scheduler.enter(Call((key, priority, owner), priority, owner, now), now)

            return enter

        def end(call: Call) -> Callable[[float], None]:
            def leave(now: float) -> None:
                self.scheduler.leave(call, now)
                arrive(*call.key)(now)  # type: ignore[misc]

            return leave

        for key, priority, owner, count in callers:
            for _ in range(count):
                later(rng.random() * self.service, arrive(key, priority, owner))
        while events and events[0][0] < seconds:
            now, _, event = heapq.heappop(events)
            event(now)
            while (call := granted(self.scheduler, now)) is not None:
                key = call.key[0]  # type: ignore[index]
                self.waits.setdefault(key, []).append(now - call.arrived)
                self.served[key] += 1
                later(now + rng.expovariate(1 / self.service), end(call))


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
    # 4 s to age, and then at most five grants of 0.1 s on four places; the flood itself waits less than 4 s.
    assert max(simulation.waits["free"]) < 4.5
    assert simulation.served["free"] >= 25


@pytest.mark.parametrize("flooding", [COMPANY, FREE])
def test_a_floor_is_held_under_any_flood(flooding: int) -> None:
    simulation = Simulation(_scheduler(8, floors={"acme": 3}))
    simulation.run([("flood", flooding, None, 300), ("acme", FREE, "acme", 3)], 60)
    assert max(simulation.waits["acme"][3:]) == 0.0
