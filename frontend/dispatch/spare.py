"""What of the Tritons' time the bulk tier may have: the time that all others leave.

A Triton is idle when it has had no call of another tier, of any of its models, for ``idle_seconds``: the idle class of
a disk's scheduler (Linux's CFQ), since a call that runs cannot be interrupted and would stand before the next one. So
that bulk work goes on at all while others call, it has one call at a time of a Triton that nobody uses at that moment,
for a small part of the time: so few of the others' calls meet one that their 95th percentile does not
know of it.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

# The part of a Triton's time that bulk work has while others use it.
_PART = 0.02


@dataclass
class _Use:
    """Calls under way of the bulk tier and of others; from when on it is idle, and the bulk tier has a call anyway.

    One that is ``gone`` is kept until its calls have ended.
    """

    bulk: int = 0
    others: int = 0
    gone: bool = False
    idle_from: float = -math.inf
    part_from: float = -math.inf


class Spare:
    """Who uses which Triton, by name, over all queues that it has."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._uses: defaultdict[str, _Use] = defaultdict(_Use)

    def begin(self, name: str, bulk: bool) -> None:
        """A call goes there."""
        use = self._uses[name]
        use.bulk, use.others, use.gone = use.bulk + bulk, use.others + (not bulk), False

    def end(self, name: str, bulk: bool, began: float, now: float) -> None:
        """It has ended."""
        use = self._uses[name]
        use.bulk, use.others = use.bulk - bulk, use.others - (not bulk)
        if bulk:
            use.part_from = now + (1 / _PART - 1) * (now - began)
        else:
            use.idle_from = now + self._idle_seconds
        if use.gone:
            self.forget(name)

    def note_others(self, names: Iterable[str], now: float) -> None:
        """Others use these by way of another frontend."""
        for name in names:
            self._uses[name].idle_from = now + self._idle_seconds

    def forget(self, name: str) -> None:
        """It is gone, when the calls that it has have ended."""
        use = self._uses[name]
        use.gone = True
        if not use.bulk and not use.others:
            del self._uses[name]

    def has_bulk(self, name: str) -> bool:
        """Whether bulk work is under way there, which others avoid."""
        return self._uses[name].bulk > 0

    def is_free(self, name: str, now: float) -> bool:
        """Whether a call of the bulk tier may go there."""
        use = self._uses[name]
        return not use.others and (now >= use.idle_from or (not use.bulk and now >= use.part_from))

    def next_change(self, name: str, now: float) -> float:
        """When to look again where it is not free; what ends meanwhile in another queue is seen then too."""
        use = self._uses[name]
        if use.others or use.bulk:
            return max(use.idle_from, now + self._idle_seconds)
        return min(use.idle_from, use.part_from)
