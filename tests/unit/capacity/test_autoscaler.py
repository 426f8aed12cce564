import pytest

from scripts.capacity.simulation.autoscaler import Scaler, Scaling


def scaler(least: int = 1, most: int = 100, **values: object) -> Scaler:
    return Scaler(Scaling(**values), least, most)  # type: ignore[arg-type]


@pytest.mark.parametrize(("usage", "expected"), [(1.0, 10), (1.09, 10), (0.91, 10), (1.2, 12)])
def test_a_usage_within_a_tenth_of_its_target_changes_nothing(usage: float, expected: int) -> None:
    assert scaler().decide(0.0, 10, usage) == expected


def test_it_doubles_once_a_minute_at_most() -> None:
    its = scaler()
    assert its.decide(0.0, 4, 10.0) == 8
    assert its.decide(15.0, 8, 10.0) == 8
    assert its.decide(61.0, 8, 10.0) == 16


def test_it_falls_by_one_a_minute_when_the_window_is_over() -> None:
    its, current, seen = scaler(), 10, []
    for now in range(0, 480, 15):
        current = its.decide(now, current, 0.1 if now else 1.0)
        seen.append(current)
    # 300 s without a higher wish, then one each minute.
    assert seen[:21] == [10] * 21
    assert seen[21] == 9
    assert seen[-1] == 7


def test_it_keeps_within_its_bounds() -> None:
    assert scaler(least=2, most=6).decide(0.0, 4, 5.0) == 6
    assert scaler(least=4, most=6).decide(0.0, 4, 0.0) == 4
