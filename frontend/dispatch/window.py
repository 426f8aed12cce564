"""How much work one call should have, so that a call is done in about a second on the device that is there.

Additive increase and multiplicative decrease on the time that calls are under way (Chiu and Jain, "Analysis of the
increase and decrease algorithms for congestion avoidance in computer networks", 1989): nothing has to be known of the
device, several frontends over one Triton come to equal parts, and a device that others slow down gets smaller pieces.
"""

from dataclasses import dataclass

_DECREASE = 0.7
# The rate of work is an average over about so many calls, and says nothing when the last of them is long ago.
_CALLS_OF_RATE = 5
_RATE_SECONDS = 60.0
# What is smaller than this part of a piece says nothing of a whole one.
_TELLING_PART = 0.5


@dataclass(frozen=True)
class Work:
    """A model's work is counted in units of its own: a piece has ``least`` to ``most`` of them.

    ``divisible`` says that callers cut what they want into pieces; what is longer all the same goes on its own.
    """

    least: float
    most: float
    divisible: bool = False


class CongestionWindow:
    """The piece of one model: a call is to be under way for ``seconds``, and not for half of that if more fits."""

    def __init__(self, work: Work, seconds: float) -> None:
        self.work, self._seconds = work, seconds
        self.piece = work.least
        self._changed = self._noted = 0.0
        self._seconds_per_work = 0.0

    def note(self, cost: float, granted: float, now: float) -> None:
        """A call of ``cost`` was under way from ``granted`` to ``now``, seconds of one clock."""
        if cost < _TELLING_PART * self.piece:
            return
        took = now - granted
        smoothing = 1 / _CALLS_OF_RATE if self._seconds_per_work else 1.0
        self._seconds_per_work += (took / cost - self._seconds_per_work) * smoothing
        self._noted = now
        # What was sent before the last change says nothing of the piece that is.
        if granted < self._changed:
            return
        if took > self._seconds:
            self.piece = max(self.work.least, _DECREASE * self.piece)
        elif took < self._seconds / 2:
            self.piece = min(self.work.most, self.piece + self.work.least)
        else:
            return
        self._changed = now

    def seconds_for(self, work: float, now: float) -> float:
        """How long ``work`` takes in calls one after another, as things are; 0 where nothing tells."""
        return work * self._seconds_per_work if now - self._noted < _RATE_SECONDS else 0.0
