"""Batch work: the smallest work of an execution that reaches 95 % of the best throughput.

Throughput is measured over whole executions while calls wait, never from a single call. The size is probed like the
rate of a network sender (Cardwell et al., "BBR: Congestion-based congestion control", 2016). It goes up while
throughput grows, and down while throughput does not fall.
"""

import math
from dataclasses import dataclass

# Shares of a throughput: the smallest size above the first is used; a result below the second is measured again.
_ENOUGH = 0.95
_SLOW = 0.8
# The shortest measurement, in executions per instance and in seconds.
_EXECUTIONS = 8
_LEAST_SECONDS = 1.0
# The calls of one execution end within this of each other, in seconds.
_GAP_SECONDS = 0.002
# The longest execution to probe on processors, in seconds.
_LONGEST_SECONDS = 1.0
# Calls that leave room for a higher tier have this share of a smallest execution if they are sent together.
_JOINED = 0.25
# A measurement is valid for the longer of this many seconds and this many times its own duration.
_AGAIN_SECONDS, _AGAIN_TIMES = 60.0, 20


@dataclass(frozen=True)
class Work:
    """How a model's work is counted: ``least`` is the smallest execution, in the model's unit.

    If it is ``divisible``, callers cut it into calls of at most one execution, which has at most ``most``.
    Otherwise the largest batch of calls limits an execution.
    """

    least: float
    most: float = math.inf
    divisible: bool = False


class BatchSize:
    """The batch work of one model, over all its Tritons."""

    def __init__(self, work: Work) -> None:
        self._unit = work
        self._sizes = [work.least]
        self._chosen = self._current = 0
        # By size: units that an instance did, the seconds it took, and the time until which that is valid.
        self._measured: dict[int, tuple[float, float, float]] = {}
        self._instances = 0.0
        self.gpu = False
        # Whether each call is one execution, regardless of its work.
        self.is_one_call = True
        self._since = -math.inf
        self._began: float | None = None
        self._done = self._last = 0.0
        self._is_whole = self._doubted = False

    def configure(self, instances: float, max_batch: int, *, gpu: bool) -> None:
        """Use the model's configuration. ``instances`` is this frontend's share of its instances.

        A GPU begins with full batches; processors begin with the smallest.
        """
        most = self._unit.most if self._unit.divisible else self._unit.least * max_batch
        sizes = [self._unit.least]
        while sizes[-1] < most:
            sizes.append(min(most, 2 * sizes[-1]))
        if sizes != self._sizes or gpu is not self.gpu:
            self._sizes, self.gpu = sizes, gpu
            self._chosen = self._current = len(sizes) - 1 if gpu else 0
            self._measured.clear()
        self.is_one_call = max_batch == 1 and not self._unit.divisible
        if instances != self._instances:
            self._instances, self._began = instances, None

    @property
    def work(self) -> float:
        """The work that one execution should have now, in the model's unit."""
        return self._sizes[self._current]

    @property
    def divisible(self) -> bool:
        """Whether callers cut the work into calls of one execution."""
        return self._unit.divisible

    @property
    def joined(self) -> float:
        """The most executions of calls that are sent together and leave room for a higher tier.

        0 if callers do not cut their work.
        """
        return _JOINED * self._sizes[0] / self.work if self.divisible else 0.0

    @property
    def is_small(self) -> bool:
        """Whether an execution is one or two calls. Triton batches these if they are sent together."""
        return not self.gpu and self._current < 2

    @property
    def throughput(self) -> float:
        """Units per second at the best size; 0 if it was not measured."""
        return self._rate(self._chosen) * self._instances

    def executions(self, cost: float) -> float:
        """The executions that a call of ``cost`` needs at the current size; may be a fraction."""
        return 1.0 if self.is_one_call else cost / self.work

    def least_executions(self, cost: float) -> float:
        """The executions that a call of ``cost`` needs at the smallest size."""
        return 1.0 if self.is_one_call else cost / self._sizes[0]

    def follow(self, work: float) -> None:
        """Use the size nearest to ``work``, which another frontend measured."""
        near = min(range(len(self._sizes)), key=lambda size: abs(self._sizes[size] - work))
        if near != self._current:
            self._current = self._chosen = near
            self._began = None

    def note(self, cost: float, sent: float, now: float, *, busy: bool) -> None:
        """Measure a call of ``cost`` from ``sent`` to ``now`` (loop seconds); ``busy`` if other calls waited."""
        self._measured = {size: result for size, result in self._measured.items() if now < result[2]}
        gap, last = now - self._last > _GAP_SECONDS, self._last
        self._last = now
        if not busy or not self._instances:
            self._began = None
        elif sent < self._since:
            return
        elif self._began is None:
            self._began, self._done, self._is_whole = now, 0.0, False
        else:
            # The calls of an execution end together. A measurement runs from one such end to another.
            if gap and not self._is_whole:
                self._began, self._done, self._is_whole = last, 0.0, True
            elif gap or self._done > 2 * self._enough:
                self._measure(last - self._began, now)
            self._done += cost

    @property
    def _enough(self) -> float:
        return _EXECUTIONS * self.work * max(1.0, self._instances)

    def _measure(self, took: float, now: float) -> None:
        if took < _LEAST_SECONDS or self._done < self._enough:
            return
        # A second result must confirm one far below the last: a single slow call does not make a slow device.
        if self._done / took / self._instances < _SLOW * self._rate(self._current) and not self._doubted:
            self._doubted, self._began = True, None
            return
        self._doubted = False
        due = now + max(_AGAIN_SECONDS, _AGAIN_TIMES * took)
        if self._current not in self._measured:
            # The next smaller size counts as measured for now. A GPU would leave full batches at once otherwise.
            self._measured.setdefault(self._current - 1, (0.0, 1.0, due))
        # The earlier measurement counts half, because calls differ.
        done, seconds, _ = self._measured.get(self._current, (0.0, 0.0, 0.0))
        self._measured[self._current] = (self._done / self._instances + done / 2, took + seconds / 2, due)
        best = max(map(self._rate, self._measured))
        self._chosen = min(size for size in self._measured if self._rate(size) >= _ENOUGH * best)
        before, self._current = self._current, self._next()
        if self._current != before:
            # Calls sent earlier had another size.
            self._since = now
        self._began = None

    def _rate(self, size: int) -> float:
        done, seconds, _ = self._measured.get(size, (0.0, 1.0, 0.0))
        return done / seconds

    def _is_too_long(self, size: int) -> bool:
        """Whether an execution of this size would block shared processors for over a second."""
        return not self.gpu and self._sizes[size] > max(self._sizes[0], _LONGEST_SECONDS * self._rate(self._chosen))

    def _next(self) -> int:
        """The size to measure next: one near the best without a valid measurement, else the best."""
        # Also try two steps up: four times the work may help even if twice the work does not.
        for size in (self._chosen + 1, self._chosen + 2, self._chosen - 1):
            if 0 <= size < len(self._sizes) and size not in self._measured and not self._is_too_long(size):
                return size
        return self._chosen
