"""A histogram of times with fixed bounds, so that counts of several frontends and days can be added.

Each bound is the previous one times the square root of two, from 2 ms to four and a half minutes. A percentile is the
geometric middle of its class: at most the fourth root of two off (19 %). Beyond the bounds, it is the nearest bound.
"""

import bisect
import math
from collections.abc import Sequence

from frontend.database.tables import TIME_COLUMNS

_STEP = math.sqrt(2)
# Upper bounds in seconds; the last class has none.
BOUNDS = tuple(0.002 * _STEP**place for place in range(len(TIME_COLUMNS) - 1))


def class_of(seconds: float) -> int:
    """The index of the class of a time."""
    return bisect.bisect_left(BOUNDS, seconds)


def percentile(counts: Sequence[int], share: float) -> float | None:
    """The time in seconds that ``share`` of the counted times do not exceed; None without counts."""
    rank, seen = share * sum(counts), 0
    for place, count in enumerate(counts):
        seen += count
        if seen and seen >= rank:
            lower, upper = BOUNDS[max(place - 1, 0)], BOUNDS[min(place, len(BOUNDS) - 1)]
            return round(math.sqrt(lower * upper), 4)
    return None
