"""Fair share: the keys of one priority get equal work, regardless of the size of their calls.

The algorithm is start-time fair queuing (Goyal, Vin and Cheng, "Start-time Fair Queuing", SIGCOMM 1996). A key's next
call starts where its last one ended, in units of work. The call with the lowest start goes first. A key that returns
starts at the present, so that keys save nothing up.
"""

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter

# The most idle keys to remember before they are pruned.
_REMEMBERED = 1024


@dataclass(eq=False)
class Call:
    """A call to a model that waits or is in flight; ``cost`` is its work in the model's unit.

    Within a key, the lowest ``rank`` goes first. ``backend``, ``sent`` and ``executions`` are set when it is sent.
    ``arrived`` and ``sent`` are loop seconds.
    """

    key: Hashable
    priority: int
    owner: str | None
    arrived: float
    cost: float = 1.0
    rank: int = 0
    backend: str = ""
    sent: float = 0.0
    executions: float = 0.0
    on_processors: bool = False


class FairShare:
    """The waiting calls of one priority. Within a key, the lowest rank goes first, then the oldest call."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, OrderedDict[Call, None]] = {}
        # The start of a key's next call, in work; and the number of its one valid heap entry.
        self._starts: dict[Hashable, float] = {}
        self._entries: dict[Hashable, int] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._numbers = itertools.count()
        self._present = 0.0
        self._forget_at = _REMEMBERED
        self.count = 0
        self.cost = 0.0

    def waiting_of(self, key: Hashable) -> int:
        """The number of waiting calls of a key."""
        return len(self._queues.get(key, ()))

    def before(self, key: Hashable) -> float:
        """About the waiting work that goes before a new call of a key: each other key gets no more than this one."""
        own = self.waiting_of(key)
        return min(self.cost, (own + len(self._queues) * (own + 1)) * self.cost / max(1, self.count))

    def add(self, call: Call) -> None:
        """Queue a call behind the others of its key."""
        queue = self._queues.get(call.key)
        if queue is None:
            queue = self._queues[call.key] = OrderedDict()
            self._push(call.key, max(self._present, self._starts.get(call.key, 0.0)))
        queue[call] = None
        self.count += 1
        self.cost += call.cost

    def remove(self, call: Call) -> None:
        """Remove a call that was sent or abandoned."""
        queue = self._queues[call.key]
        del queue[call]
        self.count -= 1
        self.cost = self.cost - call.cost if self.count else 0.0
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
            call = min(self._queues[key], key=attrgetter("rank"))
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
