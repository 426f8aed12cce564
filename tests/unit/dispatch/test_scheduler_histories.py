"""What the order of a queue promises, held by random histories."""

import random
from collections import Counter

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.dispatch.turns import Ticket


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
            self.aged_before += 1
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
