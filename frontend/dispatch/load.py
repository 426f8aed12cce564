"""The load of one Triton, and whether it has room for another call.

Each instance of a model has two executions in flight: one runs, the other is ready when it ends. Long executions of
few calls go one at a time, because the order can still change in the frontend. A call that goes before all calls in
flight may exceed the bound by one, so that it is in the next execution.

Models on processors share them, so their executions are counted together. Nothing interrupts an execution, so lower
tiers leave room there for a higher one that called lately.

Bulk work uses idle Tritons. A Triton is idle after ``idle_seconds`` without another call of any model, like the idle
class of Linux's CFQ disk scheduler, because a running call cannot be interrupted. Under load, bulk work gets one call
at a time and at most 2 % of the time, too little to move the 95th percentile of other tiers.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import BULK
from frontend.tritons.inference import Capacity

# The most executions in flight per instance.
EXECUTIONS = 2
# In a batch of at least this many calls, one slot stays free for a call that goes first.
_LARGE_BATCH = 8
# The share of time that bulk work gets while other calls come.
_BULK_PART = 0.02
# Calls are in different batches if they are sent this much (seconds) further apart than a batch waits. One may take so
# much longer to arrive than the other.
_TRANSFER_SECONDS = 0.004
# The tolerance for rounding errors in sums of executions.
ROUNDING = 1e-9


class InFlight:
    """The number of calls by priority, and their executions."""

    def __init__(self) -> None:
        self.calls, self.executions = 0, 0.0
        self.of: Counter[int] = Counter()

    def add(self, call: Call, sign: int) -> None:
        self.calls += sign
        self.of[call.priority] += sign
        self.executions = self.executions + sign * min(call.executions, EXECUTIONS) if self.calls else 0.0

    def all_after(self, call: Call) -> bool:
        """Whether ``call`` goes before all of them."""
        return all(call.priority < priority for priority, calls in self.of.items() if calls)


@dataclass
class ModelLoad:
    """One model of a Triton. It takes calls while ``takes_calls``, at most ``cap`` of them (0 for no cap).

    Tritons with the lowest ``turn`` are filled first, in rotation.
    """

    capacity: Capacity = Capacity()
    cap: int = 0
    takes_calls: bool = False
    turn: int = 0
    in_flight: InFlight = field(default_factory=InFlight)
    long: int = 0
    # When the last call was sent, and its priority.
    began: float = -math.inf
    last: int = BULK
    # By priority: until when calls of lower tiers give way.
    kept_until: dict[int, float] = field(default_factory=dict)

    @property
    def instances(self) -> int:
        """The number of instances; 0 while it takes no calls."""
        return self.capacity.instances if self.takes_calls else 0

    @property
    def bound(self) -> int:
        """The most calls in flight."""
        batch = self.capacity.max_batch
        calls = EXECUTIONS * self.instances * (batch - 1 if batch >= _LARGE_BATCH else batch)
        return min(calls, self.cap) if self.cap else calls

    def gives_way(self, call: Call, executions: float, *, joined: float, now: float) -> bool:
        """Whether a call leaves room on processors for a higher tier that called lately.

        Calls that are cut to executions leave an instance. Triton may start those that are sent together on two, so
        together they have at most ``joined`` executions. With ``joined`` 0 they are not cut: one goes to each instance.
        A call that goes before all of these may be one more.
        """
        kept = min((each for each, until in self.kept_until.items() if now < until), default=call.priority)
        if self.capacity.gpu or kept >= call.priority:
            return True
        sent = {priority: calls for priority, calls in self.in_flight.of.items() if calls and priority > kept}
        if not sent or call.priority < min(sent):
            return True
        calls = sum(sent.values())
        if not joined or calls < self.instances - 1:
            return calls < self.instances
        return now == self.began and self.in_flight.executions + executions <= joined + ROUNDING

    def is_apart(self, call: Call, now: float) -> bool:
        """Whether a call that is sent now is in no batch with a call of another tier.

        On processors, a batch takes as long as all of its calls: a small one would wait for large ones of a lower tier.
        """
        return call.priority == self.last or now >= self.apart_from

    @property
    def apart_from(self) -> float:
        """The time (loop seconds) from which a call is in no batch with those that were sent before."""
        if self.capacity.gpu or self.instances == 1:
            return -math.inf
        return self.began + self.capacity.delay + _TRANSFER_SECONDS

    def has_room(self, call: Call, executions: float, *, alone: bool, now: float) -> bool:
        """Whether one more call fits. With ``alone``, it must not wait behind another call."""
        sent = self.in_flight
        if not self.bound or not sent.calls:
            return self.bound > 0
        # Calls longer than two executions leave one instance to others.
        if executions > EXECUTIONS and self.long >= self.instances - 1:
            return False
        # Calls sent at the same time share an execution. With several instances, the free one is not known.
        if alone and self.instances == 1 and now != self.began and not sent.all_after(call):
            return False
        per_instance = 1 if alone else EXECUTIONS
        most = per_instance * self.instances + ROUNDING
        in_flight = sent.executions - self.long * (EXECUTIONS - per_instance)
        if sent.calls < self.bound and in_flight + min(executions, per_instance) <= most:
            return True
        if in_flight > most or not sent.all_after(call):
            return False
        return sent.calls <= self.bound and (not self.cap or sent.calls < self.cap)


class TritonLoad:
    """All models of one Triton."""

    def __init__(self, models: Iterable[str], idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        # Whether it is in this frontend's zone, and how many frontends send to it.
        self.near, self.frontends = True, 1
        self.models = {model: ModelLoad() for model in models}
        self._all, self._on_processors = InFlight(), InFlight()
        self._idle_from = self._bulk_from = -math.inf

    def has_processors(self, call: Call, model: str, executions: float) -> bool:
        """Whether the processors have room for one more call; True if no other model has calls there."""
        sent = self._on_processors
        if not self.has_others(model):
            return True
        instances = max(load.instances for load in self.models.values() if not load.capacity.gpu)
        most = max(EXECUTIONS, instances) + ROUNDING
        return sent.executions + min(executions, EXECUTIONS) <= most or sent.all_after(call)

    def goes_first(self, call: Call) -> bool:
        """Whether a call goes before all on the processors. It may be one more than their room, so it takes none."""
        return self._on_processors.all_after(call)

    def has_others(self, model: str) -> bool:
        """Whether another model has calls on the same processors."""
        load = self.models[model]
        return not load.capacity.gpu and self._on_processors.calls > load.in_flight.calls

    def begin(self, call: Call, model: str, now: float) -> None:
        """Count a call as sent."""
        load = self.models[model]
        load.began, load.last, call.on_processors = now, call.priority, not load.capacity.gpu
        load.kept_until[call.priority] = now + self._idle_seconds
        load.long += call.executions > EXECUTIONS
        self._count(call, model, 1)

    def end(self, call: Call, model: str, now: float) -> None:
        """Count a call as ended."""
        load = self.models[model]
        load.kept_until[call.priority] = now + self._idle_seconds
        load.long -= call.executions > EXECUTIONS
        self._count(call, model, -1)
        if call.priority == BULK:
            self._bulk_from = now + (self.frontends / _BULK_PART - 1) * (now - call.sent)
        else:
            self._idle_from = now + self._idle_seconds

    def level(self, model: str) -> int:
        """The rounds of executions before a new call; 0 if an instance is idle."""
        load = self.models[model]
        in_flight = load.in_flight if load.capacity.gpu else self._on_processors
        return in_flight.calls // max(1, load.instances)

    @property
    def has_bulk(self) -> bool:
        """Whether bulk work is in flight."""
        return self._all.of[BULK] > 0

    def is_idle(self, now: float) -> bool:
        """Whether a bulk call may go there."""
        if self._all.calls > self._all.of[BULK]:
            return False
        return now >= self._idle_from or (not self.has_bulk and now >= self._bulk_from)

    def next_idle(self, now: float) -> float:
        """The time (loop seconds) to check again whether the Triton is idle."""
        if self._all.calls:
            return self._idle_from if self._idle_from > now else now + self._idle_seconds
        return min(self._idle_from, self._bulk_from)

    def used_elsewhere(self, now: float) -> None:
        """Note that another frontend uses this Triton for other than bulk work."""
        self._idle_from = now + self._idle_seconds

    def _count(self, call: Call, model: str, sign: int) -> None:
        self.models[model].in_flight.add(call, sign)
        self._all.add(call, sign)
        if call.on_processors:
            self._on_processors.add(call, sign)
