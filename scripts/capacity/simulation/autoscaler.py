"""How many Tritons a pool is to have: what Kubernetes' autoscaler does with KEDA's metric, without a clock."""

import math
from collections import deque
from dataclasses import dataclass

# kube-controller-manager's default: a usage that is off by less changes nothing.
_TOLERANCE = 0.1
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Scaling:
    """As docker/helm/quartet/templates/autoscaling.yaml has it, in seconds.

    ``signal`` is ``demand`` (calls that wait or are in flight), of which a Triton is to have ``target`` of what fills
    it; or ``ratio`` (time in Triton's queue by time in the model), which is to be 1; or ``none``.
    """

    signal: str = "demand"
    target: float = 0.7
    poll: float = 15.0
    growth: float = 1.0
    growth_period: float = 60.0
    shrink: int = 1
    shrink_period: float = 60.0
    shrink_window: float = 300.0


class Scaler:
    """One pool between ``least`` and ``most`` Tritons (``HorizontalController.stabilizeRecommendation`` and
    ``getScaleUpLimit`` of kubernetes/pkg/controller/podautoscaler, 1.35).
    """

    def __init__(self, scaling: Scaling, least: int, most: int) -> None:
        self._scaling, self._least, self._most = scaling, least, most
        self._wanted: deque[tuple[float, int]] = deque()
        self._changes: deque[tuple[float, int]] = deque()

    def decide(self, now: float, current: int, usage: float) -> int:
        """How many are to be from ``now`` on, where each of ``current`` has ``usage`` times its target."""
        desired = current if abs(usage - 1) <= _TOLERANCE else math.ceil(usage * current - _ROUNDING)
        desired = min(max(desired, self._least), self._most)
        desired = self._within(now, current, self._settled(now, desired))
        if desired != current:
            self._changes.append((now, desired - current))
        return desired

    def _settled(self, now: float, desired: int) -> int:
        """It falls to the most of what was wanted within a window, and rises at once."""
        self._wanted.append((now, desired))
        while self._wanted[0][0] < now - self._scaling.shrink_window:
            self._wanted.popleft()
        return max(wanted for _, wanted in self._wanted)

    def _within(self, now: float, current: int, desired: int) -> int:
        scaling = self._scaling
        if desired > current:
            before = current - self._changed(now, scaling.growth_period)
            return min(desired, max(current, math.ceil(before * (1 + scaling.growth))))
        before = current - self._changed(now, scaling.shrink_period)
        return max(desired, min(current, before - scaling.shrink))

    def _changed(self, now: float, period: float) -> int:
        """By how many there are more than ``period`` ago."""
        return sum(change for at, change in self._changes if at > now - period)
