"""The size of a piece follows the device."""

import pytest

from frontend.dispatch.window import CongestionWindow, Work


def _used(window: CongestionWindow, rate: float, calls: int) -> list[float]:
    """Pieces that a device makes which does ``rate`` of work a second, each sent when the one before is done."""
    now, pieces = 0.0, []
    for _ in range(calls):
        began = now
        now += window.piece / rate
        window.note(window.piece, began, now)
        pieces.append(window.piece)
    return pieces


@pytest.mark.parametrize("rate", [2_000.0, 5_000.0, 20_000.0])
def test_a_piece_grows_to_what_the_device_does_in_half_the_time_to_all_of_it(rate: float) -> None:
    pieces = _used(CongestionWindow(Work(500, 100_000), 1.0), rate, 200)
    assert all(0.4 <= piece / rate <= 1.0 for piece in pieces[-50:])


def test_a_call_of_half_the_time_to_all_of_it_leaves_the_piece_as_it_is() -> None:
    window = CongestionWindow(Work(500, 10_000), 1.0)
    for now in range(10):
        window.note(500, float(now), now + 0.75)
    assert window.piece == 500


def test_a_piece_never_leaves_its_bounds() -> None:
    assert _used(CongestionWindow(Work(500, 4_000), 1.0), 1e9, 100)[-1] == 4_000
    assert _used(CongestionWindow(Work(500, 4_000), 1.0), 1.0, 100)[-1] == 500


def test_a_piece_shrinks_when_the_device_slows_down() -> None:
    window = CongestionWindow(Work(500, 100_000), 1.0)
    fast = _used(window, 20_000.0, 200)[-1]
    assert _used(window, 2_000.0, 20)[-1] < fast / 5


def test_small_calls_say_nothing() -> None:
    window = CongestionWindow(Work(500, 10_000), 1.0)
    window.note(10, 0.0, 9.0)
    window.note(10, 9.0, 9.001)
    assert window.piece == 500


def test_what_was_sent_before_a_change_says_nothing_of_it() -> None:
    window = CongestionWindow(Work(500, 10_000), 1.0)
    for _ in range(8):
        window.note(10_000, 0.0, 0.1)
    assert window.piece == 1_000


def test_what_work_takes_follows_the_calls_that_were_done() -> None:
    window = CongestionWindow(Work(500, 10_000), 1.0)
    window.note(500, 0.0, 2.0)
    assert window.seconds_for(5_000, 3.0) == pytest.approx(20.0)
    for end in range(4, 44):
        window.note(500, end - 1.0, float(end))
    assert window.seconds_for(5_000, 44.0) == pytest.approx(10.0, rel=0.01)


def test_calls_of_long_ago_and_small_ones_say_nothing_of_what_work_takes() -> None:
    window = CongestionWindow(Work(500, 10_000), 1.0)
    window.note(10, 0.0, 2.0)
    assert window.seconds_for(5_000, 3.0) == 0
    window.note(500, 0.0, 2.0)
    assert window.seconds_for(5_000, 70.0) == 0
