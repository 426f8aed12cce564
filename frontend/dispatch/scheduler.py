"""Who goes next, and on which backend: the decisions of one queue, without a clock, a lock or an event loop.

Every method is told the time. Tiers go in order, and the keys of a tier share it by work. At most one grant in
``aged_every`` goes to the ticket that has waited longest, once that is ``age_seconds``: without the bound a flood of
old tickets would turn the order round. An owner with a floor goes first until it has its slots, and others borrow them
only when it has been idle for ``hold_seconds``. A key has at most ``key_share`` of the slots. The last tier, bulk, has
what is to spare alone, and does not age.

A slot is a call that is under way; besides, a backend has at most the work of two pieces a lane under way. Calls that
are a piece each go to a single lane two at a time, and together: a batch of two is faster than one after the other.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from frontend.dispatch.slots import PIECES, Nearness, Slots
from frontend.dispatch.spare import Spare
from frontend.dispatch.turns import Ticket, Turns

TIERS = 4
BULK = TIERS
# Once no short recording has come for so long, a long one may have several windows under way.
_QUIET_SECONDS = 2.0
_SMOOTHING = 0.1


@dataclass(frozen=True)
class Rules:
    """What a queue promises."""

    age_seconds: float = 4.0
    aged_every: int = 5
    hold_seconds: float = 5.0
    key_share: float = 1.0


class Scheduler:
    """The tickets of one queue that wait or run, and the slots of its backends.

    ``floors`` are slots by owner, a key or an organisation. ``piece`` is the work that one call should have at most.
    ``spare`` is known to all queues of the same backends.
    """

    def __init__(self, rules: Rules, floors: Mapping[str, int] | None = None, spare: Spare | None = None) -> None:
        self._rules, self._floors, self._spare = rules, dict(floors or {}), spare or Spare(rules.hold_seconds)
        self.piece = math.inf
        # How many calls may run at once, over all backends; how many wait or run, without bulk work.
        self.slots = self.others = 0
        self._backends: dict[str, Slots] = {}
        self._arrivals: OrderedDict[Ticket, None] = OrderedDict()
        self._bulk: OrderedDict[Ticket, None] = OrderedDict()
        self._tiers = [Turns() for _ in range(TIERS)]
        self._running_of: dict[Hashable, int] = {}
        self._since_aged = rules.aged_every
        self._grants = 0
        self._used_at = self._short_at = -math.inf
        # Tickets of rank 0 that wait or run.
        self._short = 0
        self._owned = dict.fromkeys(self._floors, 0)
        self._owners: dict[str, OrderedDict[Ticket, None]] = {owner: OrderedDict() for owner in self._floors}
        self._seen: dict[str, float] = {}
        self._seconds = self._cost = 0.0

    @property
    def free(self) -> int:
        """Slots that nobody has."""
        return sum(backend.free for backend in self._backends.values())

    def waiting(self, tier: int | None = None) -> int:
        """How many wait, in all or of one tier."""
        return len(self._arrivals) + len(self._bulk) if tier is None else self._tiers[tier - 1].count

    def waiting_of(self, key: Hashable) -> int:
        """How many of a key's tickets wait."""
        return sum(turns.waiting_of(key) for turns in self._tiers)

    @property
    def is_open(self) -> bool:
        """Whether some backend is in: who waits will have a slot."""
        return any(backend.is_in for backend in self._backends.values())

    def set_limit(self, backend: str, limit: int, lanes: int = 1, nearness: Nearness = Nearness.NEAR) -> None:
        """A backend is in: how many calls it may have at once, and how many it works on side by side."""
        known = self._backends.setdefault(backend, Slots())
        self.slots += limit - known.limit
        known.limit, known.lanes, known.is_in, known.nearness = limit, lanes, True, nearness

    def drop(self, backend: str) -> None:
        """A backend is out; the calls that it has go on."""
        if (known := self._backends.get(backend)) is not None:
            self.slots -= known.limit
            known.limit, known.is_in = 0, False
            self._forget(backend)

    def _forget(self, backend: str) -> None:
        known = self._backends[backend]
        if not known.is_in and not known.running:
            del self._backends[backend]

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """Other numbers for the owners that there are."""
        self._floors.update(floors)

    def is_used(self, now: float) -> bool:
        """Whether others than bulk wait or run, or did within the time that makes a backend idle."""
        return self.others > 0 or now - self._used_at < self._rules.hold_seconds

    def is_quiet(self, now: float) -> bool:
        """Whether no ticket of rank 0 waits or runs, or has in the last two seconds."""
        return not self._short and now - self._short_at > _QUIET_SECONDS

    def demand_of_owners(self) -> dict[str, int]:
        """How many tickets of each owner of a floor wait or run."""
        return {owner: len(queue) + self._owned[owner] for owner, queue in self._owners.items()}

    def enter(self, ticket: Ticket, now: float) -> None:
        """Wait behind the others of the ticket's key."""
        self._line(ticket)[ticket] = None
        self._tiers[ticket.tier - 1].add(ticket)
        self.others += ticket.tier != BULK
        self._short += not ticket.rank
        if ticket.owner is not None and ticket.owner in self._owners:
            self._owners[ticket.owner][ticket] = None
            self._seen[ticket.owner] = now

    def leave(self, ticket: Ticket, now: float) -> None:
        """The work is done or its caller gone: give a slot back, or wait no longer. A second time changes nothing."""
        if ticket in self._line(ticket):
            self._remove(ticket)
        elif ticket.backend:
            self._end(ticket, now)
        else:
            return
        if ticket.tier != BULK:
            self.others, self._used_at = self.others - 1, now
        if not ticket.rank:
            self._short, self._short_at = self._short - 1, now

    def grant(self, now: float) -> Ticket | None:
        """Give the next slot to whom it is due, or to nobody: none is free, or those that are belong to a floor."""
        if not self.waiting() or not self.free:
            return None
        ticket, aged = self._below_floor(), False
        if ticket is None and self.free > self._held(now):
            ticket, aged = self._of_the_rest(now)
        name = self._place(ticket, now) if ticket is not None else None
        if ticket is None or name is None:
            return None
        self._since_aged = 0 if aged else self._since_aged + 1
        self._begin(ticket, name, now)
        return ticket

    def next_change(self, now: float) -> float | None:
        """When slots that are held back, for a floor or from bulk work, come free though nobody enters or leaves."""
        times = [self._seen[owner] + self._rules.hold_seconds for owner in self._holding(now)]
        if self._bulk:
            times += [self._spare.next_change(name, now) for name, backend in self._backends.items() if backend.free]
        return min((time for time in times if time > now), default=None)

    def expected_wait(self, tier: int) -> float:
        """Seconds that a ticket of ``tier`` would wait, from the work that goes before it and how long calls take."""
        if not self.is_open:
            return math.inf
        if not self._cost:
            return 0.0
        room = any(backend.has_room(self._cost, self.piece, math.inf) for backend in self._backends.values())
        ahead = sum(turns.cost for turns in self._tiers[:tier]) / self._cost - (self.free if room else 0) + 1
        return max(0.0, ahead) * self._seconds / self._at_once()

    def _at_once(self) -> float:
        """How many calls of the usual cost are under way when there is enough to do."""
        lanes = sum(backend.lanes for backend in self._backends.values() if backend.limit)
        return max(1, min(self.slots, max(lanes, PIECES * lanes * self.piece / self._cost)))

    def _begin(self, ticket: Ticket, name: str, now: float) -> None:
        self._tiers[ticket.tier - 1].took(ticket)
        self._remove(ticket)
        backend = self._backends[name]
        backend.running += 1
        self._spare.begin(name, ticket.tier == BULK)
        backend.work += ticket.cost
        self._grants = backend.last = self._grants + 1
        backend.began = now
        ticket.backend, ticket.granted = name, now
        self._running_of[ticket.key] = self._running_of.get(ticket.key, 0) + 1
        if ticket.owner is not None and ticket.owner in self._owned:
            self._owned[ticket.owner] += 1

    def _end(self, ticket: Ticket, now: float) -> None:
        backend = self._backends[ticket.backend]
        backend.running -= 1
        backend.work = backend.work - ticket.cost if backend.running else 0.0
        self._forget(ticket.backend)
        self._spare.end(ticket.backend, ticket.tier == BULK, ticket.granted, now)
        ticket.backend = ""
        self._running_of[ticket.key] -= 1
        if not self._running_of[ticket.key]:
            del self._running_of[ticket.key]
        smoothing = _SMOOTHING if self._cost else 1.0
        self._seconds += (now - ticket.granted - self._seconds) * smoothing
        self._cost += (ticket.cost - self._cost) * smoothing
        if ticket.owner is not None and ticket.owner in self._owned:
            self._owned[ticket.owner] -= 1
            self._seen[ticket.owner] = now

    def _line(self, ticket: Ticket) -> OrderedDict[Ticket, None]:
        return self._bulk if ticket.tier == BULK else self._arrivals

    def _remove(self, ticket: Ticket) -> None:
        del self._line(ticket)[ticket]
        self._tiers[ticket.tier - 1].remove(ticket)
        if ticket.owner is not None and ticket.owner in self._owners:
            del self._owners[ticket.owner][ticket]

    def _place(self, ticket: Ticket, now: float) -> str | None:
        """Of those with room a near one, without bulk work, an idle home, with the most free slots, rested longest."""
        known, spare = self._backends, self._spare
        fitting = [name for name, backend in known.items() if backend.has_room(ticket.cost, self.piece, now)]
        if ticket.tier == BULK:
            fitting = [name for name in fitting if spare.is_free(name, now)]

        def order(name: str) -> tuple[bool, bool, bool, int, int]:
            its = known[name]
            near = its.nearness is not Nearness.FAR
            return near, not spare.has_bulk(name), its.is_idle_home, its.free, -its.last

        return max(fitting, key=order, default=None)

    def _may(self, ticket: Ticket) -> bool:
        """Whether the ticket's key has less than its share."""
        share = self._rules.key_share
        return share >= 1 or self._running_of.get(ticket.key, 0) < max(1, math.floor(self.slots * share))

    def _below_floor(self) -> Ticket | None:
        floors = self._floors
        short = [owner for owner, queue in self._owners.items() if queue and self._owned[owner] < floors[owner]]
        if not short:
            return None
        owner = min(short, key=lambda owner: self._owned[owner] / floors[owner])
        return next((ticket for ticket in self._owners[owner] if self._may(ticket)), None)

    def _holding(self, now: float) -> list[str]:
        """The owners that are active and have fewer slots than their floor."""
        since = now - self._rules.hold_seconds
        return [
            owner for owner, seen in self._seen.items() if seen > since and self._owned[owner] < self._floors[owner]
        ]

    def _held(self, now: float) -> int:
        return sum(self._floors[owner] - self._owned[owner] for owner in self._holding(now))

    def _of_the_rest(self, now: float) -> tuple[Ticket | None, bool]:
        """Whose turn it is, and whether it goes for its age."""
        oldest = next(iter(self._arrivals), None)
        aged = oldest is not None and now - oldest.arrived >= self._rules.age_seconds
        if oldest is not None and aged and self._since_aged + 1 >= self._rules.aged_every and self._may(oldest):
            return oldest, True
        for turns in self._tiers:
            if turns.count and (ticket := turns.first(self._may)) is not None:
                return ticket, False
        return None, False
