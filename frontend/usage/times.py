"""Times in classes of fixed bounds, so that counts of many frontends and days add up to one distribution.

A bound is the one before times the square root of two, from 2 ms on, which is four and a half minutes at the last. A
percentile is told as the geometric middle of the class that it lies in: it is off by a factor of the fourth root of two
at most, 19 %, whatever the distribution, between the first bound and the last; beyond those it is told as the bound.
"""

import bisect
import math
from collections.abc import Sequence

from frontend.database.tables import TIME_COLUMNS

_STEP = math.sqrt(2)
# The upper ones, in seconds; the last class has none.
BOUNDS = tuple(0.002 * _STEP**place for place in range(len(TIME_COLUMNS) - 1))


def class_of(seconds: float) -> int:
    """The place of the class that a time belongs to."""
    return bisect.bisect_left(BOUNDS, seconds)


def percentile(counts: Sequence[int], share: float) -> float | None:
    """Seconds that ``share`` of what is counted in each class took at most; None where nothing is."""
    rank, seen = share * sum(counts), 0
    for place, count in enumerate(counts):
        seen += count
        if seen and seen >= rank:
            lower, upper = BOUNDS[max(place - 1, 0)], BOUNDS[min(place, len(BOUNDS) - 1)]
            return round(math.sqrt(lower * upper), 4)
    return None
