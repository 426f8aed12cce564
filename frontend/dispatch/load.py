"""What one Triton has in flight, and whether one call more would be good for it.

Each instance of a model has two executions: one that runs, and one that is complete when it ends. Executions that are
long and of few calls run one at a time: one more would wait in Triton as it waits in the frontend, where order can
still change. A call that goes before all that are in flight may be one over the bound, and so in the next execution.

Models on processors share them, so their executions are counted together.

Bulk work has the time that others leave. A Triton is idle when it has had no other call, of any model, for
``idle_seconds`` (the idle class of a disk's scheduler, Linux's CFQ): a call that runs cannot be interrupted and would
stand before the next one. So that bulk work goes on at all while others call, it has one call at a time in moments
when there is no other, for 2 % of the time: so few of the others' calls meet one that their 95th percentile stays.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import BULK
from frontend.tritons.inference import Capacity

EXECUTIONS = 2
# Of a batch of so many calls one place is left for a call that comes before the others.
_LARGE_BATCH = 8
_BULK_PART = 0.02
# Sums of parts of executions come a rounding error over their bound.
MOMENT = 1e-9


class InFlight:
    """Calls by priority, and how many executions they are."""

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
    """One model of a Triton, which takes calls while it ``is_in``, and at most ``cap`` where that is set.

    Those of the lowest ``place`` go first, in turn.
    """

    capacity: Capacity = Capacity()
    cap: int = 0
    is_in: bool = False
    place: int = 0
    in_flight: InFlight = field(default_factory=InFlight)
    long: int = 0
    began: float = -math.inf

    @property
    def instances(self) -> int:
        """How many executions it works on side by side; 0 while it takes no calls."""
        return self.capacity.instances if self.is_in else 0

    @property
    def bound(self) -> int:
        """Calls in flight at most."""
        batch = self.capacity.max_batch
        calls = EXECUTIONS * self.instances * (batch - 1 if batch >= _LARGE_BATCH else batch)
        return min(calls, self.cap) if self.cap else calls

    def has_room(self, call: Call, executions: float, *, alone: bool, now: float) -> bool:
        """Whether one call more completes an execution; ``alone`` where none is to wait behind another."""
        its = self.in_flight
        if not self.bound or not its.calls:
            return self.bound > 0
        # What is longer than two executions and cannot be cut leaves one instance to others.
        if executions > EXECUTIONS and self.long >= self.instances - 1:
            return False
        # Executed together if they are sent together. Of several instances nobody knows which one is free.
        if alone and self.instances == 1 and now != self.began:
            return False
        each = 1 if alone else EXECUTIONS
        most = each * self.instances + MOMENT
        in_flight = its.executions - self.long * (EXECUTIONS - each)
        if its.calls < self.bound and in_flight + min(executions, each) <= most:
            return True
        if alone or in_flight > most or not its.all_after(call):
            return False
        return its.calls <= self.bound and (not self.cap or its.calls < self.cap)


class TritonLoad:
    """All models of one Triton, which is ``near`` where it is in this frontend's zone."""

    def __init__(self, models: Iterable[str], idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        # Whether it is in this frontend's zone, and how many frontends send to it.
        self.near, self.frontends = True, 1
        self.models = {model: ModelLoad() for model in models}
        self._all, self._on_processors = InFlight(), InFlight()
        self._idle_from = self._bulk_from = -math.inf

    def has_processors(self, call: Call, model: str, executions: float) -> bool:
        """Whether the processors have room for one call more: always, where no other model has calls there."""
        its = self._on_processors
        if not self.has_others(model):
            return True
        instances = max(load.instances for load in self.models.values() if not load.capacity.gpu)
        most = max(EXECUTIONS, instances) + MOMENT
        return its.executions + min(executions, EXECUTIONS) <= most or its.all_after(call)

    def has_others(self, model: str) -> bool:
        """Whether another model has calls on the same processors."""
        load = self.models[model]
        return not load.capacity.gpu and self._on_processors.calls > load.in_flight.calls

    def begin(self, call: Call, model: str, now: float) -> None:
        """A call is sent there."""
        load = self.models[model]
        load.began, call.on_processors = now, not load.capacity.gpu
        load.long += call.executions > EXECUTIONS
        self._count(call, model, 1)

    def end(self, call: Call, model: str, now: float) -> None:
        """It has ended."""
        self.models[model].long -= call.executions > EXECUTIONS
        self._count(call, model, -1)
        if call.priority == BULK:
            self._bulk_from = now + (self.frontends / _BULK_PART - 1) * (now - call.sent)
        else:
            self._idle_from = now + self._idle_seconds

    def level(self, model: str) -> int:
        """Executions before a new one: Tritons with an idle instance are alike, and those where one would wait."""
        load = self.models[model]
        in_flight = load.in_flight if load.capacity.gpu else self._on_processors
        return in_flight.calls // max(1, load.instances)

    @property
    def has_bulk(self) -> bool:
        """Whether bulk work is in flight, which others avoid."""
        return self._all.of[BULK] > 0

    def is_idle(self, now: float) -> bool:
        """Whether a bulk call may go there."""
        if self._all.calls > self._all.of[BULK]:
            return False
        return now >= self._idle_from or (not self.has_bulk and now >= self._bulk_from)

    def next_idle(self, now: float) -> float:
        """When to look again whether it is idle; what ends meanwhile is seen then too."""
        if self._all.calls:
            return self._idle_from if self._idle_from > now else now + self._idle_seconds
        return min(self._idle_from, self._bulk_from)

    def used_elsewhere(self, now: float) -> None:
        """Another frontend has calls there that are no bulk work."""
        self._idle_from = now + self._idle_seconds

    def _count(self, call: Call, model: str, sign: int) -> None:
        self.models[model].in_flight.add(call, sign)
        self._all.add(call, sign)
        if call.on_processors:
            self._on_processors.add(call, sign)
