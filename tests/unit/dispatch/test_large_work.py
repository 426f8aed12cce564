"""Large work is begun if it, and what was begun before, can end in time."""

import pytest

from frontend.dispatch.large_work import LargeWork, seconds_late

COMPANY, FREE = 1, 3
NOW = 1000.0


def _work(left: float, seconds: float = 100.0, priority: int = FREE) -> LargeWork:
    return LargeWork(priority, NOW + seconds, left)


@pytest.mark.parametrize(
    ("begun", "new", "late"),
    [
        ([], _work(49), 0),
        ([], _work(60), 20),
        ([_work(16), _work(16)], _work(16), 0),
        ([_work(20), _work(20)], _work(20), 20),
        ([_work(45)], _work(5), 0),
        ([_work(45, 94)], _work(5), 6),
        ([_work(60)], _work(5), 0),
        ([_work(45, priority=COMPANY)], _work(10), 10),
        ([_work(45)], _work(40, priority=COMPANY), 0),
    ],
    ids=[
        "alone in time",
        "alone late",
        "three share",
        "three share and are late",
        "a small one ends first",
        "a small one makes another late",
        "what is late anyway counts for nobody",
        "higher tiers go first",
        "lower tiers wait",
    ],
)
def test_what_is_late_is_counted_by_equal_shares_of_keys(begun: list[LargeWork], new: LargeWork, late: float) -> None:
    assert seconds_late(begun, new, NOW, seconds=2.0) == pytest.approx(late)
