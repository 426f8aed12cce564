from frontend.processes.pauses import Pauses


def test_pauses_between_restarts_grow_up_to_30_seconds() -> None:
    pauses = Pauses()
    assert [pauses.next(float(second)) for second in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_restart_after_a_quiet_minute_has_no_pause() -> None:
    pauses = Pauses()
    assert [pauses.next(second) for second in (0.0, 1.0, 61.0)] == [0, 1, 0]
