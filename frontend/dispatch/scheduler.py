"""The order of calls to one model, without a clock or an event loop: ``now`` is in loop seconds.

Priorities go in order, and the keys of one priority share it by work. Ageing lets the oldest call go first once it has
waited ``age_seconds``, at most one call in ``aged_every``: a flood of old calls would reverse the order otherwise. An
owner below its floor goes first. Others use its slots only after it was idle for ``hold_seconds``. A key gets at most
``key_share`` of the slots. Bulk, the last priority, does not age.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from frontend.dispatch.fair_share import Call, FairShare

PRIORITIES = 4
BULK = PRIORITIES
# The order of an aged call, or of a call below a floor: before every priority.
FIRST = 0
# After this many seconds without a short recording, a long one may have several windows in flight.
_QUIET_SECONDS = 2.0


@dataclass(frozen=True)
class Rules:
    """The rules of a queue: times in seconds, ``aged_every`` in calls, ``key_share`` as a share of the slots."""

    age_seconds: float = 4.0
    aged_every: int = 5
    hold_seconds: float = 5.0
    key_share: float = 1.0


class Scheduler:
    """The calls to one model; ``floors`` are calls in flight by owner, a key or an organisation.

    ``bound`` is the most calls in flight over all backends, and ``in_flight`` their number now.
    """

    def __init__(self, rules: Rules, floors: Mapping[str, int] | None = None) -> None:
        self._rules, self._floors = rules, dict(floors or {})
        self.bound = self.in_flight = 0
        # The number of waiting calls; and of waiting calls and calls in flight, without bulk work.
        self.waits = self.others = 0
        self._arrivals: OrderedDict[Call, None] = OrderedDict()
        self._bulk: OrderedDict[Call, None] = OrderedDict()
        self._priorities = [FairShare() for _ in range(PRIORITIES)]
        self._in_flight_of: dict[Hashable, int] = {}
        self._since_aged, self._passed = rules.aged_every, 0
        self._used_at = self._short_at = -math.inf
        # Calls of rank 0 that wait or are in flight.
        self._short = 0
        self._owner_calls = dict.fromkeys(self._floors, 0)
        self._owners: dict[str, OrderedDict[Call, None]] = {owner: OrderedDict() for owner in self._floors}
        self._active_at: dict[str, float] = {}

    def waiting(self, priority: int) -> int:
        """The number of waiting calls of one priority."""
        return self._priorities[priority - 1].count

    def waiting_of(self, key: Hashable) -> int:
        """The number of waiting calls of a key."""
        return sum(calls.waiting_of(key) for calls in self._priorities)

    def work_before(self, call: Call) -> float:
        """The work that goes before a call that comes."""
        *higher, own = self._priorities[: call.priority]
        return sum(calls.cost for calls in higher) + own.before(call)

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """Change the floors of known owners."""
        self._floors.update(floors)

    def is_used(self, now: float) -> bool:
        """Whether calls other than bulk wait or are in flight, or did within ``hold_seconds``."""
        return self.others > 0 or now - self._used_at < self._rules.hold_seconds

    def is_quiet(self, now: float) -> bool:
        """Whether no call of rank 0 waits or is in flight, or did in the last two seconds."""
        return not self._short and now - self._short_at > _QUIET_SECONDS

    def enter(self, call: Call, now: float) -> None:
        """Queue a call."""
        self._by_arrival(call)[call] = None
        self.waits += 1
        self._priorities[call.priority - 1].add(call)
        self.others += call.priority != BULK
        self._short += not call.rank
        if call.owner is not None and call.owner in self._owners:
            self._owners[call.owner][call] = None
            self._active_at[call.owner] = now

    def leave(self, call: Call, now: float) -> None:
        """Remove a call that has ended or was abandoned."""
        if call in self._by_arrival(call):
            self._remove(call)
        else:
            self._end(call, now)
        if call.priority != BULK:
            self.others, self._used_at = self.others - 1, now
        if not call.rank:
            self._short, self._short_at = self._short - 1, now

    def next(self, now: float, *, by_age: bool = True, most: float = math.inf) -> tuple[int, Call] | None:
        """The next call and its order among the models: 0 for age or floor, else its priority.

        None if no call may go, or if the free slots are kept for floors. ``by_age=False`` ignores ageing; ``most``
        bounds the cost of a call that goes by priority.
        """
        if (call := self._below_floor()) is not None:
            return FIRST, call
        kept = self._slots_kept(now)
        if kept and self.bound - self.in_flight <= kept:
            return None
        oldest = next(iter(self._arrivals), None)
        if by_age and oldest is not None and self._goes_by_age(oldest, now):
            return FIRST, oldest

        def may_go(call: Call) -> bool:
            return call.cost <= most and self._is_below_key_share(call)

        for priority, calls in enumerate(self._priorities, 1):
            if calls.count and (call := calls.first(may_go)) is not None:
                return priority, call
        return None

    def begin(self, order: int, call: Call, now: float) -> None:
        """Count the call that ``next`` returned as sent."""
        aged = order == FIRST and not self.is_below_floor(call.owner)
        self._since_aged = 0 if aged else self._since_aged + 1
        self._passed = 0
        self._priorities[call.priority - 1].granted(call)
        self._remove(call)
        call.sent = now
        self.in_flight += 1
        self._in_flight_of[call.key] = self._in_flight_of.get(call.key, 0) + 1
        if call.owner is not None and call.owner in self._owner_calls:
            self._owner_calls[call.owner] += 1

    def passed_over(self, calls: int) -> None:
        """Count calls to other models that went first. After ``aged_every`` of them, the oldest here may go."""
        self._passed += calls

    def next_change(self, now: float) -> float:
        """The time at which slots kept for a floor become free for others; infinity if there are none."""
        hold = self._rules.hold_seconds
        return min((self._active_at[owner] + hold for owner in self._owners_below_floor(now)), default=math.inf)

    def _end(self, call: Call, now: float) -> None:
        self.in_flight -= 1
        self._in_flight_of[call.key] -= 1
        if not self._in_flight_of[call.key]:
            del self._in_flight_of[call.key]
        if call.owner is not None and call.owner in self._owner_calls:
            self._owner_calls[call.owner] -= 1
            self._active_at[call.owner] = now

    def _by_arrival(self, call: Call) -> OrderedDict[Call, None]:
        return self._bulk if call.priority == BULK else self._arrivals

    def _remove(self, call: Call) -> None:
        del self._by_arrival(call)[call]
        self.waits -= 1
        self._priorities[call.priority - 1].remove(call)
        if call.owner is not None and call.owner in self._owners:
            del self._owners[call.owner][call]

    def _is_below_key_share(self, call: Call) -> bool:
        """Whether the call's key is below its share."""
        share = self._rules.key_share
        return share >= 1 or self._in_flight_of.get(call.key, 0) < max(1, math.floor(self.bound * share))

    def _goes_by_age(self, oldest: Call, now: float) -> bool:
        """Whether ageing lets ``oldest`` go: one call in ``aged_every``, or after that many to other models."""
        every, before = self._rules.aged_every, self._priorities[: oldest.priority - 1]
        is_due = self._since_aged + 1 >= every or (self._passed >= every and not any(calls.count for calls in before))
        return is_due and now - oldest.arrived >= self._rules.age_seconds and self._is_below_key_share(oldest)

    def is_below_floor(self, owner: str | None) -> bool:
        """Whether an owner has fewer calls in flight than its floor."""
        return owner is not None and owner in self._owner_calls and self._owner_calls[owner] < self._floors[owner]

    def _below_floor(self) -> Call | None:
        floors = self._floors
        short = [owner for owner, calls in self._owners.items() if calls and self.is_below_floor(owner)]
        if not short:
            return None
        owner = min(short, key=lambda owner: self._owner_calls[owner] / floors[owner])
        return next((call for call in self._owners[owner] if self._is_below_key_share(call)), None)

    def _owners_below_floor(self, now: float) -> list[str]:
        """The active owners below their floor."""
        since = now - self._rules.hold_seconds
        return [owner for owner, active in self._active_at.items() if active > since and self.is_below_floor(owner)]

    def _slots_kept(self, now: float) -> int:
        return sum(self._floors[owner] - self._owner_calls[owner] for owner in self._owners_below_floor(now))
