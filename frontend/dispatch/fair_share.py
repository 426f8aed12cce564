"""Fair share: the keys of one priority get equal work, regardless of the size of their calls.

The algorithm is start-time fair queuing (Goyal, Vin and Cheng, "Start-time Fair Queuing", SIGCOMM 1996). A key's next
call starts where its last one ended, in units of work. The call with the lowest start goes first. A key that returns
starts at the present, so that keys save nothing up.

Within a key, a request is due when it has taken several times as long as it would alone. What is due first goes first,
with all of its calls. So small requests pass large ones, and equal ones go one after another (Bender, Chakrabarti and
Muthukrishnan, "Flow and Stretch Metrics for Scheduling Continuous Job Streams", SODA 1998).
"""

import heapq
import itertools
from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Hashable
from dataclasses import dataclass

# The most idle keys to remember before they are pruned.
_REMEMBERED = 1024


@dataclass(eq=False)
class Call:
    """A call to a model that waits or is in flight; ``cost`` is its work in the model's unit.

    Within a key, the lowest ``rank`` goes first, then the earliest ``due``. ``follows`` is the work of its request that
    enters when this call has ended. ``begun``: the call is one of a request that has others. ``backend``, ``sent`` and
    ``executions`` are set when it is sent. ``arrived``, ``due`` and ``sent`` are loop seconds.
    """

    key: Hashable
    priority: int
    owner: str | None
    arrived: float
    cost: float = 1.0
    rank: int = 0
    due: float = 0.0
    follows: float = 0.0
    begun: bool = False
    backend: str = ""
    sent: float = 0.0
    executions: float = 0.0
    on_processors: bool = False


def _order(call: Call) -> tuple[int, float]:
    return call.rank, call.due


class FairShare:
    """The waiting calls of one priority. ``cost`` is their work, and ``follows`` what follows them."""

    def __init__(self) -> None:
        # In the order within the key.
        self._queues: dict[Hashable, list[Call]] = {}
        # The start of a key's next call, in work; and the number of its one valid heap entry.
        self._starts: dict[Hashable, float] = {}
        self._entries: dict[Hashable, int] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._numbers = itertools.count()
        self._present = 0.0
        self._forget_at = _REMEMBERED
        self.count = 0
        self.cost = self.follows = 0.0

    def waiting_of(self, key: Hashable) -> int:
        """The number of waiting calls of a key."""
        return len(self._queues.get(key, ()))

    def before(self, call: Call) -> float:
        """About the work that goes before a call that comes: each other key gets no more than this one."""
        queue = self._queues.get(call.key, [])
        earlier = queue[: bisect_right(queue, _order(call), key=_order)]
        own = sum(each.cost for each in earlier)
        # What follows them comes before a new request, but after a call of their own request.
        if not call.begun:
            own += sum(each.follows for each in earlier)
        others = len(self._queues) - (call.key in self._queues)
        theirs = self.cost + self.follows - sum(each.cost + each.follows for each in queue)
        return own + min(max(0.0, theirs), others * (own + self.cost / max(1, self.count)))

    def add(self, call: Call) -> None:
        """Queue a call."""
        queue = self._queues.get(call.key)
        if queue is None:
            queue = self._queues[call.key] = []
            self._push(call.key, max(self._present, self._starts.get(call.key, 0.0)))
        insort_right(queue, call, key=_order)
        self.count += 1
        self.cost += call.cost
        self.follows += call.follows

    def remove(self, call: Call) -> None:
        """Remove a call that was sent or abandoned."""
        queue = self._queues[call.key]
        del queue[queue.index(call, bisect_left(queue, _order(call), key=_order))]
        self.count -= 1
        self.cost = self.cost - call.cost if self.count else 0.0
        self.follows = self.follows - call.follows if self.count else 0.0
        if not queue:
            del self._queues[call.key], self._entries[call.key]
        self._forget()

    def first(self, may: Callable[[Call], bool]) -> Call | None:
        """The next call for which ``may`` is true; None if there is none."""
        passed: list[tuple[float, int, Hashable]] = []
        first = None
        while self._heap and first is None:
            entry = self._heap[0]
            key = entry[2]
            if self._entries.get(key) != entry[1]:
                heapq.heappop(self._heap)
                continue
            call = self._queues[key][0]
            if may(call):
                first = call
            else:
                passed.append(heapq.heappop(self._heap))
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return first

    def granted(self, call: Call) -> None:
        """Grant a waiting call: the next call of its key starts where its work ends."""
        self._present = max(self._present, self._starts[call.key])
        self._push(call.key, self._starts[call.key] + call.cost)

    def _push(self, key: Hashable, start: float) -> None:
        number = next(self._numbers)
        self._starts[key], self._entries[key] = start, number
        heapq.heappush(self._heap, (start, number, key))

    def _forget(self) -> None:
        """Drop the starts of idle keys that are not after the present, which is where they would start."""
        if not self.count:
            self._starts.clear()
            self._heap.clear()
            self._present = 0.0
        if len(self._starts) <= self._forget_at and len(self._heap) <= len(self._starts) * 2 + 64:
            return
        self._starts = {
            key: start for key, start in self._starts.items() if key in self._queues or start > self._present
        }
        self._heap = [entry for entry in self._heap if self._entries.get(entry[2]) == entry[1]]
        heapq.heapify(self._heap)
        # Each pruning visits every key, so the next one waits until there are twice as many.
        self._forget_at = 2 * len(self._starts) + _REMEMBERED
