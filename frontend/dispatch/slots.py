"""How many calls, and how much work, one Triton may have of a queue at once."""

import math
from dataclasses import dataclass
from enum import IntEnum

# One piece that is being worked on and one that waits behind it, or two together.
PIECES = 2


class Nearness(IntEnum):
    """Of a Triton to a frontend: in another zone, in its own, or there and the frontend's to fill before all others."""

    FAR = 0
    NEAR = 1
    HOME = 2


@dataclass
class Slots:
    """Calls that a backend may have and has at once, the work of these, and how many it works on side by side.

    One that ``is_in`` may have no slots for the moment. ``last`` is the number of the last grant that it had, ``began``
    its time.
    """

    limit: int = 0
    lanes: int = 1
    is_in: bool = False
    nearness: Nearness = Nearness.NEAR
    running: int = 0
    work: float = 0.0
    last: int = 0
    began: float = -math.inf

    @property
    def free(self) -> int:
        """Slots that nobody has; a backend whose limit fell may have more running than it should."""
        return max(0, self.limit - self.running)

    @property
    def is_idle_home(self) -> bool:
        """Whether it has a lane free that no other frontend fills first."""
        return self.nearness is Nearness.HOME and self.running < self.lanes

    def has_room(self, cost: float, piece: float, now: float) -> bool:
        """Whether one more call of ``cost`` is within its bounds.

        Behind one that is a piece by itself it would wait there as it waits here, where it may still be overtaken: it
        goes together with that one, or when that one has ended. Of several lanes nobody knows which one ended.
        """
        if not self.free or self.running < self.lanes:
            return self.free > 0
        in_time = cost < piece or self.lanes > 1 or now == self.began
        return in_time and self.work + cost <= PIECES * self.lanes * piece
