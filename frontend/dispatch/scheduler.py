"""Whose turn it is among the calls to one model, without a clock or an event loop: every method is told the time.

Priorities go in order, and the keys of one share it by work. At most one call in ``aged_every`` goes because it has
waited longest, once that is ``age_seconds``: without this bound a flood of old calls would turn the order round. An
owner with a floor goes first until it has so many calls in flight, and others borrow its places only when it has been
idle for ``hold_seconds``. A key has at most ``key_share`` of the places. Bulk, the last priority, does not age.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from frontend.dispatch.fair_share import Call, FairShare

PRIORITIES = 4
BULK = PRIORITIES
# The order of a call that goes for its age, or to an owner below its floor: before every priority.
FIRST = 0
# Once no short recording has come for so long, a long one may have several windows in flight.
_QUIET_SECONDS = 2.0


@dataclass(frozen=True)
class Rules:
    """What a queue promises."""

    age_seconds: float = 4.0
    aged_every: int = 5
    hold_seconds: float = 5.0
    key_share: float = 1.0


class Scheduler:
    """The calls to one model; ``floors`` are places by owner, a key or an organisation.

    ``bound`` is how many calls may be in flight over all backends, and ``in_flight`` how many are.
    """

    def __init__(self, rules: Rules, floors: Mapping[str, int] | None = None) -> None:
        self._rules, self._floors = rules, dict(floors or {})
        self.bound = self.in_flight = 0
        # How many wait; and how many wait or are in flight, without bulk work.
        self.waits = self.others = 0
        self._arrivals: OrderedDict[Call, None] = OrderedDict()
        self._bulk: OrderedDict[Call, None] = OrderedDict()
        self._priorities = [FairShare() for _ in range(PRIORITIES)]
        self._in_flight_of: dict[Hashable, int] = {}
        self._since_aged, self._passed = rules.aged_every, 0
        self._used_at = self._short_at = -math.inf
        # Calls of rank 0 that wait or are in flight.
        self._short = 0
        self._owned = dict.fromkeys(self._floors, 0)
        self._owners: dict[str, OrderedDict[Call, None]] = {owner: OrderedDict() for owner in self._floors}
        self._seen: dict[str, float] = {}

    def waiting(self, priority: int) -> int:
        """How many of one priority wait."""
        return self._priorities[priority - 1].count

    def waiting_of(self, key: Hashable) -> int:
        """How many of a key's calls wait."""
        return sum(calls.waiting_of(key) for calls in self._priorities)

    def work_before(self, priority: int) -> float:
        """The work that waits and goes before a new call of ``priority``."""
        return sum(calls.cost for calls in self._priorities[:priority])

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """Other numbers for the owners that there are."""
        self._floors.update(floors)

    def is_used(self, now: float) -> bool:
        """Whether others than bulk wait or are in flight, or did within the time that makes a backend idle."""
        return self.others > 0 or now - self._used_at < self._rules.hold_seconds

    def is_quiet(self, now: float) -> bool:
        """Whether no call of rank 0 waits or is in flight, or has in the last two seconds."""
        return not self._short and now - self._short_at > _QUIET_SECONDS

    def enter(self, call: Call, now: float) -> None:
        """Wait behind the others of the call's key."""
        self._line(call)[call] = None
        self.waits += 1
        self._priorities[call.priority - 1].add(call)
        self.others += call.priority != BULK
        self._short += not call.rank
        if call.owner is not None and call.owner in self._owners:
            self._owners[call.owner][call] = None
            self._seen[call.owner] = now

    def leave(self, call: Call, now: float) -> None:
        """It is done, or its caller has gone. A second time changes nothing."""
        if call in self._line(call):
            self._remove(call)
        elif call.backend:
            self._end(call, now)
        else:
            return
        if call.priority != BULK:
            self.others, self._used_at = self.others - 1, now
        if not call.rank:
            self._short, self._short_at = self._short - 1, now

    def next(self, now: float, *, by_age: bool = True, most: float = math.inf) -> tuple[int, Call] | None:
        """Whose turn it is, after its order among the models: 0 for its age or floor, else its priority.

        None where nobody waits who may go, or what is free is kept for owners of floors. Without ``by_age``, whose it
        would be if none were aged; ``most`` is what it may cost.
        """
        if (call := self._below_floor()) is not None:
            return FIRST, call
        held = self._held(now)
        if held and self.bound - self.in_flight <= held:
            return None
        oldest = next(iter(self._arrivals), None)
        if by_age and oldest is not None and self._goes_for_its_age(oldest, now):
            return FIRST, oldest
        for priority, calls in enumerate(self._priorities, 1):
            if calls.count and (call := calls.first(lambda call: call.cost <= most and self._may(call))) is not None:
                return priority, call
        return None

    def begin(self, order: int, call: Call, now: float) -> None:
        """The call that ``next`` named is sent."""
        aged = order == FIRST and not self._is_below_floor(call.owner)
        self._since_aged = 0 if aged else self._since_aged + 1
        self._passed = 0
        self._priorities[call.priority - 1].took(call)
        self._remove(call)
        call.sent = now
        self.in_flight += 1
        self._in_flight_of[call.key] = self._in_flight_of.get(call.key, 0) + 1
        if call.owner is not None and call.owner in self._owned:
            self._owned[call.owner] += 1

    def passed_over(self, calls: int) -> None:
        """So many calls to other models went first; after ``aged_every`` the oldest here may go for its age."""
        self._passed += calls

    def next_change(self, now: float) -> float:
        """When places that are kept for owners of floors come free though nobody enters or leaves."""
        return min((self._seen[owner] + self._rules.hold_seconds for owner in self._holding(now)), default=math.inf)

    def _end(self, call: Call, now: float) -> None:
        self.in_flight -= 1
        call.backend = ""
        self._in_flight_of[call.key] -= 1
        if not self._in_flight_of[call.key]:
            del self._in_flight_of[call.key]
        if call.owner is not None and call.owner in self._owned:
            self._owned[call.owner] -= 1
            self._seen[call.owner] = now

    def _line(self, call: Call) -> OrderedDict[Call, None]:
        return self._bulk if call.priority == BULK else self._arrivals

    def _remove(self, call: Call) -> None:
        del self._line(call)[call]
        self.waits -= 1
        self._priorities[call.priority - 1].remove(call)
        if call.owner is not None and call.owner in self._owners:
            del self._owners[call.owner][call]

    def _may(self, call: Call) -> bool:
        """Whether the call's key has less than its share."""
        share = self._rules.key_share
        return share >= 1 or self._in_flight_of.get(call.key, 0) < max(1, math.floor(self.bound * share))

    def _goes_for_its_age(self, oldest: Call, now: float) -> bool:
        """One call in five does; and one after five to other models, where none here has a higher priority."""
        every, before = self._rules.aged_every, self._priorities[: oldest.priority - 1]
        its_turn = self._since_aged + 1 >= every or (self._passed >= every and not any(its.count for its in before))
        return its_turn and now - oldest.arrived >= self._rules.age_seconds and self._may(oldest)

    def _is_below_floor(self, owner: str | None) -> bool:
        return owner is not None and owner in self._owned and self._owned[owner] < self._floors[owner]

    def _below_floor(self) -> Call | None:
        floors = self._floors
        short = [owner for owner, calls in self._owners.items() if calls and self._is_below_floor(owner)]
        if not short:
            return None
        owner = min(short, key=lambda owner: self._owned[owner] / floors[owner])
        return next((call for call in self._owners[owner] if self._may(call)), None)

    def _holding(self, now: float) -> list[str]:
        """The owners that are active and have fewer calls in flight than their floor."""
        since = now - self._rules.hold_seconds
        return [owner for owner, seen in self._seen.items() if seen > since and self._is_below_floor(owner)]

    def _held(self, now: float) -> int:
        return sum(self._floors[owner] - self._owned[owner] for owner in self._holding(now))
