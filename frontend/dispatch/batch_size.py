"""How much work one execution of a model should have: the smallest that reaches 95 % of the best throughput.

Throughput is measured over whole executions while calls wait, and never told from a single call. As a sender on a
network path does (Cardwell et al., "BBR: Congestion-based congestion control", 2016), the size is probed: upwards while
throughput grows, downwards while it does not fall.
"""

import math
from dataclasses import dataclass

_ENOUGH = 0.95
_SLOW = 0.8
# A throughput is measured over so many executions of each instance, and so many seconds at least.
_EXECUTIONS = 8
_LEAST_SECONDS = 1.0
# Between two calls of one execution less time passes.
_GAP_SECONDS = 0.002
_LONGEST_SECONDS = 1.0
# What was measured holds for so long, and for so many times as long as it took.
_AGAIN_SECONDS, _AGAIN_TIMES = 60.0, 20


@dataclass(frozen=True)
class Work:
    """A model's work is counted in a unit of its own; an execution has ``least`` of it at least.

    Where it is ``divisible``, callers cut it into calls of at most one execution, which has ``most``. Otherwise an
    execution has at most what the calls of one batch have.
    """

    least: float
    most: float = math.inf
    divisible: bool = False


class BatchSize:
    """The size for one model, over all of its Tritons."""

    def __init__(self, work: Work) -> None:
        self._unit = work
        self._sizes = [work.least]
        self._chosen = self._current = 0
        # By size: units that an instance did, in how many seconds, and until when that holds.
        self._measured: dict[int, tuple[float, float, float]] = {}
        self._instances = 0.0
        self.gpu = False
        # A call is an execution, however much work it is.
        self._is_one_call = True
        self._since = -math.inf
        self._began: float | None = None
        self._done = self._last = 0.0
        self._is_whole = self._doubted = False

    def configure(self, instances: float, max_batch: int, *, gpu: bool) -> None:
        """What Triton says. ``instances`` is this frontend's part of them, where others have the rest.

        A GPU begins with full batches, processors with the smallest.
        """
        most = self._unit.most if self._unit.divisible else self._unit.least * max_batch
        sizes = [self._unit.least]
        while sizes[-1] < most:
            sizes.append(min(most, 2 * sizes[-1]))
        if sizes != self._sizes or gpu is not self.gpu:
            self._sizes, self.gpu = sizes, gpu
            self._chosen = self._current = len(sizes) - 1 if gpu else 0
            self._measured.clear()
        self._is_one_call = max_batch == 1 and not self._unit.divisible
        if instances != self._instances:
            self._instances, self._began = instances, None

    @property
    def work(self) -> float:
        """What one execution should have now."""
        return self._sizes[self._current]

    @property
    def is_small(self) -> bool:
        """Whether it is a call or two, which Triton's queue delay keeps together where they are sent together."""
        return not self.gpu and self._current < 2

    @property
    def throughput(self) -> float:
        """Units a second at the best size; 0 where that was not measured."""
        return self._rate(self._chosen) * self._instances

    def executions(self, cost: float) -> float:
        """Which part of an execution a call of ``cost`` is, or how many of them."""
        return 1.0 if self._is_one_call else cost / self.work

    def least_executions(self, cost: float) -> float:
        """The same by the least size."""
        return 1.0 if self._is_one_call else cost / self._sizes[0]

    def follow(self, work: float) -> None:
        """Another frontend measures: use the size that it uses."""
        near = min(range(len(self._sizes)), key=lambda size: abs(self._sizes[size] - work))
        if near != self._current:
            self._current = self._chosen = near
            self._began = None

    def note(self, cost: float, sent: float, now: float, *, busy: bool) -> None:
        """A call of ``cost`` that was ``sent`` has ended ``now``; others waited meanwhile where it was ``busy``."""
        self._measured = {size: told for size, told in self._measured.items() if now < told[2]}
        gap, last = now - self._last > _GAP_SECONDS, self._last
        self._last = now
        if not busy or not self._instances:
            self._began = None
        elif sent < self._since:
            return
        elif self._began is None:
            self._began, self._done, self._is_whole = now, 0.0, False
        else:
            # The calls of an execution end together: what is between two ends is measured, and no part of one.
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
        # A result far below the last one is believed when a second one confirms it: one slow call is no slow device.
        if self._done / took / self._instances < _SLOW * self._rate(self._current) and not self._doubted:
            self._doubted, self._began = True, None
            return
        self._doubted = False
        due = now + max(_AGAIN_SECONDS, _AGAIN_TIMES * took)
        if self._current not in self._measured:
            # The next smaller size counts as tried for now, so that a GPU begins with full batches.
            self._measured.setdefault(self._current - 1, (0.0, 1.0, due))
        # What was measured before counts half: calls differ.
        done, seconds, _ = self._measured.get(self._current, (0.0, 0.0, 0.0))
        self._measured[self._current] = (self._done / self._instances + done / 2, took + seconds / 2, due)
        best = max(map(self._rate, self._measured))
        self._chosen = min(size for size in self._measured if self._rate(size) >= _ENOUGH * best)
        before, self._current = self._current, self._next()
        if self._current != before:
            # What was sent before says nothing of the size that is.
            self._since = now
        self._began = None

    def _rate(self, size: int) -> float:
        done, seconds, _ = self._measured.get(size, (0.0, 1.0, 0.0))
        return done / seconds

    def _is_too_long(self, size: int) -> bool:
        """Whether others would wait on processors for an execution of over a second."""
        return not self.gpu and self._sizes[size] > max(self._sizes[0], _LONGEST_SECONDS * self._rate(self._chosen))

    def _next(self) -> int:
        """The size to measure: one near the best that was not for a while, else the best."""
        # Two steps up: twice the work may not show yet that four times does more.
        for size in (self._chosen + 1, self._chosen + 2, self._chosen - 1):
            if 0 <= size < len(self._sizes) and size not in self._measured and not self._is_too_long(size):
                return size
        return self._chosen
