"""Whose turn it is among the keys of one tier: each gets its share of the work that is done, however it cuts its own.

The algorithm is start-time fair queuing (Goyal, Vin and Cheng, "Start-time Fair Queuing", SIGCOMM 1996): a key's next
ticket starts where its last one ended, in units of work, and the ticket that starts first goes first. A key that was
away starts at the present, so that nothing can be saved up.
"""

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

# Keys that wait no more are remembered until so many have gathered.
_REMEMBERED = 1024


@dataclass(eq=False)
class Ticket:
    """One call that wants a slot of ``tier``: ``cost`` is its work, ``owner`` may have a floor, ``backend`` has it.

    Of a key's tickets those of the lowest ``rank`` go first.
    """

    key: Hashable
    tier: int
    owner: str | None
    arrived: float
    cost: float = 1.0
    rank: int = 0
    backend: str = ""
    granted: float = 0.0


def _rank(ticket: Ticket) -> int:
    return ticket.rank


class Turns:
    """The tickets of one tier that wait; within a key the lowest rank goes first, then who came first."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, OrderedDict[Ticket, None]] = {}
        # Where the next ticket of a key starts, in work; and the one entry of a waiting key that counts in the heap.
        self._starts: dict[Hashable, float] = {}
        self._entries: dict[Hashable, int] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._numbers = itertools.count()
        self._present = 0.0
        self.count = 0
        self.cost = 0.0

    def waiting_of(self, key: Hashable) -> int:
        """How many of a key's tickets wait."""
        return len(self._queues.get(key, ()))

    def add(self, ticket: Ticket) -> None:
        """Wait behind the others of the ticket's key."""
        queue = self._queues.get(ticket.key)
        if queue is None:
            queue = self._queues[ticket.key] = OrderedDict()
            self._push(ticket.key, max(self._present, self._starts.get(ticket.key, 0.0)))
        queue[ticket] = None
        self.count += 1
        self.cost += ticket.cost

    def remove(self, ticket: Ticket) -> None:
        """It waits no more: its caller has gone, or it was granted."""
        queue = self._queues[ticket.key]
        del queue[ticket]
        self.count -= 1
        self.cost = self.cost - ticket.cost if self.count else 0.0
        if not queue:
            del self._queues[ticket.key], self._entries[ticket.key]
        self._forget()

    def first(self, may: Callable[[Ticket], bool]) -> Ticket | None:
        """The ticket whose turn it is among those that ``may`` go; None where there is none."""
        passed: list[tuple[float, int, Hashable]] = []
        found = None
        while self._heap and found is None:
            entry = self._heap[0]
            key = entry[2]
            if self._entries.get(key) != entry[1]:
                heapq.heappop(self._heap)
                continue
            ticket = min(self._queues[key], key=_rank)
            if may(ticket):
                found = ticket
            else:
                passed.append(heapq.heappop(self._heap))
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return found

    def took(self, ticket: Ticket) -> None:
        """A ticket that waits here is granted: the next one of its key starts where its work ends."""
        self._present = max(self._present, self._starts[ticket.key])
        self._push(ticket.key, self._starts[ticket.key] + ticket.cost)

    def _push(self, key: Hashable, start: float) -> None:
        number = next(self._numbers)
        self._starts[key], self._entries[key] = start, number
        heapq.heappush(self._heap, (start, number, key))

    def _forget(self) -> None:
        """Keys that the present has caught up with start there anyway, as all do when nobody waits."""
        if not self.count:
            self._starts.clear()
            self._heap.clear()
            self._present = 0.0
        if len(self._starts) <= 2 * len(self._queues) + _REMEMBERED and len(self._heap) <= len(self._starts) * 2 + 64:
            return
        self._starts = {
            key: start for key, start in self._starts.items() if key in self._queues or start > self._present
        }
        self._heap = [entry for entry in self._heap if self._entries.get(entry[2]) == entry[1]]
        heapq.heapify(self._heap)
