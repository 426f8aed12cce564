"""One bar on a terminal, a line now and then anywhere else."""

import io

import pytest

from scripts.progress_bar import ProgressBar


class Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("scripts.progress_bar.time.monotonic", lambda: clock.now)
    return clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_the_first_line_comes_at_once_and_the_next_after_a_while(clock: Clock) -> None:
    screen = io.StringIO()
    bar = ProgressBar(screen, "loading", 100)
    for done in range(31):
        bar.show(done, f"model {done}")
        clock.now += 1
    assert screen.getvalue().splitlines() == [
        "00:00 loading 0/100 models, model 0",
        "00:10 loading 10/100 models, model 10",
        "00:20 loading 20/100 models, model 20",
        "00:30 loading 30/100 models, model 30",
    ]


def test_without_a_terminal_an_equal_line_is_repeated_after_half_a_minute(clock: Clock) -> None:
    screen = io.StringIO()
    bar = ProgressBar(screen, "loading", 2)
    for _ in range(62):
        bar.show(1)
        clock.now += 1
    told = [f"{time} loading 1/2 models" for time in ("00:00", "00:30", "01:00")]
    assert screen.getvalue().splitlines() == told


def test_a_terminal_has_one_line_and_none_at_the_end() -> None:
    screen = Terminal()
    bar = ProgressBar(screen, "loading", 2)
    for done in range(3):
        bar.show(done)
    bar.close()
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().split("\r")[-2].strip() == ""
