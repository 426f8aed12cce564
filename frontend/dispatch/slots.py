"""How many calls, and how much work, one Triton may have of a queue at once."""

from dataclasses import dataclass
from enum import IntEnum

# One piece that is being worked on and one that waits behind it.
PIECES = 2


class Nearness(IntEnum):
    """Of a Triton to a frontend: in another zone, in its own, or there and the frontend's to fill before all others."""

    FAR = 0
    NEAR = 1
    HOME = 2


@dataclass
class Slots:
    """Calls that a backend may have and has at once, the work of these, and how many it works on side by side.

    One that ``is_in`` may have no slots for the moment. ``last`` is the number of the last grant that it had.
    """

    limit: int = 0
    lanes: int = 1
    is_in: bool = False
    nearness: Nearness = Nearness.NEAR
    running: int = 0
    work: float = 0.0
    last: int = 0

    @property
    def free(self) -> int:
        """Slots that nobody has; a backend whose limit fell may have more running than it should."""
        return max(0, self.limit - self.running)

    @property
    def is_idle_home(self) -> bool:
        """Whether it has a lane free that no other frontend fills first."""
        return self.nearness is Nearness.HOME and self.running < self.lanes

    def has_room(self, cost: float, piece: float) -> bool:
        """Whether one more call of ``cost`` is within its bounds."""
        return self.free > 0 and (self.running < self.lanes or self.work + cost <= PIECES * self.lanes * piece)
