import math
import random

import pytest

from frontend.database.tables import TIME_COLUMNS
from frontend.usage.times import BOUNDS, class_of, percentile

_WIDTH = 2**0.25


def _counts(times: list[float]) -> list[int]:
    counts = [0] * len(TIME_COLUMNS)
    for seconds in times:
        counts[class_of(seconds)] += 1
    return counts


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_percentile_is_off_by_a_fifth_at_most(seed: int, share: float) -> None:
    draw = random.Random(seed)
    times = sorted(min(200.0, max(0.003, draw.lognormvariate(-1, 2))) for _ in range(draw.randint(1, 2_000)))
    true = times[math.ceil(share * len(times)) - 1]
    told = percentile(_counts(times), share)
    assert told is not None
    # To the nearest tenth of a millisecond.
    assert true / _WIDTH - 1e-4 < told < true * _WIDTH + 1e-4


def test_histograms_can_be_added() -> None:
    some, others = [0.1] * 90, [20.0] * 10
    both = [one + other for one, other in zip(_counts(some), _counts(others), strict=True)]
    assert (percentile(both, 0.5), percentile(both, 0.95)) == (
        percentile(_counts(some), 0.5),
        percentile(_counts(others), 0.5),
    )


@pytest.mark.parametrize("place", [0, 3, len(BOUNDS) - 1])
def test_a_bound_belongs_to_the_class_below_it(place: int) -> None:
    assert class_of(BOUNDS[place]) == place


def test_nothing_has_no_percentile() -> None:
    assert percentile(_counts([]), 0.5) is None


@pytest.mark.parametrize(("seconds", "told"), [(0.0, BOUNDS[0]), (1e6, BOUNDS[-1])])
def test_a_time_beyond_the_bounds_is_the_nearest_bound(seconds: float, told: float) -> None:
    assert percentile(_counts([seconds]), 0.95) == round(told, 4)
