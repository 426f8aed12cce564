"""Who goes next, and on which backend: the decisions of one model's queue, without a clock, a lock or an event loop.

Every method is told the time. Tiers go in order, and the keys of a tier take turns. At most one grant in ``aged_every``
goes to the ticket that has waited longest, once that is ``age_seconds``: without the bound a flood of old tickets would
turn the order round. An owner with a floor goes first until it has its slots, and others borrow them only when it has
been idle for ``hold_seconds``.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

TIERS = 3
_SMOOTHING = 0.1


@dataclass(frozen=True)
class Rules:
    """What a queue promises."""

    age_seconds: float = 4.0
    aged_every: int = 5
    hold_seconds: float = 5.0


@dataclass(eq=False)
class Ticket:
    """One call that wants a slot of ``tier``; ``owner`` may have a floor, ``backend`` is where it runs."""

    key: Hashable
    tier: int
    owner: str | None
    arrived: float
    backend: str = ""
    granted: float = 0.0


_Queue = OrderedDict[Ticket, None]


class Scheduler:
    """The tickets of one model that wait or run, and the slots of its backends.

    ``floors`` are slots by owner, a key or an organisation.
    """

    def __init__(self, rules: Rules, floors: Mapping[str, int] | None = None) -> None:
        self._rules, self._floors = rules, dict(floors or {})
        self._limits: dict[str, int] = {}
        self._running: dict[str, int] = {}
        self._arrivals: _Queue = OrderedDict()
        self._tiers: list[OrderedDict[Hashable, _Queue]] = [OrderedDict() for _ in range(TIERS)]
        self._counts = [0] * TIERS
        self._keys: dict[Hashable, int] = {}
        self._since_aged = rules.aged_every
        self._owned = dict.fromkeys(self._floors, 0)
        self._owners: dict[str, _Queue] = {owner: OrderedDict() for owner in self._floors}
        self._seen: dict[str, float] = {}
        self._service = 0.0

    @property
    def slots(self) -> int:
        """How many calls may run at once, over all backends."""
        return sum(self._limits.values())

    @property
    def free(self) -> int:
        """Slots that nobody has; a backend whose limit fell may have more running than it should."""
        return sum(max(0, limit - self._running[name]) for name, limit in self._limits.items())

    def waiting(self, tier: int | None = None) -> int:
        """How many wait, in all or of one tier."""
        return len(self._arrivals) if tier is None else self._counts[tier - 1]

    def waiting_of(self, key: Hashable) -> int:
        """How many of a key's tickets wait."""
        return self._keys.get(key, 0)

    def set_limit(self, backend: str, limit: int) -> None:
        """How many calls a backend may have at once; none while it is out."""
        self._limits[backend] = limit
        self._running.setdefault(backend, 0)

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """Other numbers for the owners that there are."""
        self._floors.update(floors)

    def demand_of_owners(self) -> dict[str, int]:
        """How many tickets of each owner of a floor wait or run."""
        return {owner: len(queue) + self._owned[owner] for owner, queue in self._owners.items()}

    def enter(self, ticket: Ticket, now: float) -> None:
        """Wait behind the others of the ticket's key."""
        self._arrivals[ticket] = None
        self._tiers[ticket.tier - 1].setdefault(ticket.key, OrderedDict())[ticket] = None
        self._counts[ticket.tier - 1] += 1
        self._keys[ticket.key] = self._keys.get(ticket.key, 0) + 1
        if ticket.owner is not None and ticket.owner in self._owners:
            self._owners[ticket.owner][ticket] = None
            self._seen[ticket.owner] = now

    def leave(self, ticket: Ticket, now: float) -> None:
        """The caller is done or gone: give back a slot, or stop waiting for one. A second time changes nothing."""
        if ticket in self._arrivals:
            self._remove(ticket)
        elif ticket.backend:
            self._running[ticket.backend] -= 1
            ticket.backend = ""
            took = now - ticket.granted
            self._service += (took - self._service) * (_SMOOTHING if self._service else 1.0)
            if ticket.owner is not None and ticket.owner in self._owned:
                self._owned[ticket.owner] -= 1
                self._seen[ticket.owner] = now

    def grant(self, now: float) -> Ticket | None:
        """Give the next slot to whom it is due, or to nobody: none is free, or those that are belong to a floor."""
        if not self._arrivals or not self.free:
            return None
        ticket = self._below_floor() or (self._of_the_rest(now) if self.free > self._held(now) else None)
        if ticket is not None:
            self._remove(ticket)
            ticket.backend = max(self._limits, key=lambda name: self._limits[name] - self._running[name])
            ticket.granted = now
            self._running[ticket.backend] += 1
            if ticket.owner is not None and ticket.owner in self._owned:
                self._owned[ticket.owner] += 1
        return ticket

    def next_change(self, now: float) -> float | None:
        """When slots that a floor holds back come free for others, though nobody enters or leaves."""
        times = [self._seen[owner] + self._rules.hold_seconds for owner in self._holding(now)]
        return min(times, default=None)

    def expected_wait(self, tier: int) -> float:
        """Seconds that a ticket of ``tier`` would wait, from those that go before it and how long calls take."""
        ahead = sum(self._counts[:tier]) - self.free + 1
        return max(0, ahead) * self._service / self.slots if self.slots else float("inf")

    def _remove(self, ticket: Ticket) -> None:
        del self._arrivals[ticket]
        turns = self._tiers[ticket.tier - 1]
        queue = turns[ticket.key]
        del queue[ticket]
        if not queue:
            del turns[ticket.key]
        self._counts[ticket.tier - 1] -= 1
        self._keys[ticket.key] -= 1
        if not self._keys[ticket.key]:
            del self._keys[ticket.key]
        if ticket.owner is not None and ticket.owner in self._owners:
            del self._owners[ticket.owner][ticket]

    def _below_floor(self) -> Ticket | None:
        floors = self._floors
        short = [owner for owner, queue in self._owners.items() if queue and self._owned[owner] < floors[owner]]
        if not short:
            return None
        owner = min(short, key=lambda owner: self._owned[owner] / floors[owner])
        return next(iter(self._owners[owner]))

    def _holding(self, now: float) -> list[str]:
        """The owners that are active and have fewer slots than their floor."""
        since = now - self._rules.hold_seconds
        return [
            owner for owner, seen in self._seen.items() if seen > since and self._owned[owner] < self._floors[owner]
        ]

    def _held(self, now: float) -> int:
        return sum(self._floors[owner] - self._owned[owner] for owner in self._holding(now))

    def _of_the_rest(self, now: float) -> Ticket:
        oldest = next(iter(self._arrivals))
        if self._since_aged + 1 >= self._rules.aged_every and now - oldest.arrived >= self._rules.age_seconds:
            self._since_aged = 0
            return oldest
        self._since_aged += 1
        turns = next(turns for turns in self._tiers if turns)
        key, queue = next(iter(turns.items()))
        turns.move_to_end(key)
        return next(iter(queue))
