"""What dies is started again in good time."""

from frontend.processes.pauses import Pauses


def test_the_first_new_start_is_at_once() -> None:
    assert Pauses().next(100.0) == 0


def test_new_starts_that_follow_each_other_wait_longer_and_longer() -> None:
    pauses = Pauses()
    assert [pauses.next(float(second)) for second in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_quiet_minute_forgets_the_pauses() -> None:
    pauses = Pauses()
    pauses.next(0.0)
    pauses.next(1.0)
    assert pauses.next(61.0) == 0
