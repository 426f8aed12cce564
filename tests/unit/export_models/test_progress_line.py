"""What a person sees of a running export, and what its log has."""

import io

import pytest

from scripts.export_models.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


def _logged(log: io.StringIO) -> list[str]:
    return [line[8:].strip() for line in log.getvalue().splitlines()]


def test_the_log_has_a_step_at_each_quarter(log: io.StringIO) -> None:
    line = ProgressLine(io.StringIO(), log, 2)
    for done in range(101):
        line.step("m", "quantising", done, 100)
    assert _logged(log) == [f"m: quantising {percent}%" for percent in (0, 25, 50, 75, 100)]


def test_a_step_without_parts_has_no_share(log: io.StringIO) -> None:
    ProgressLine(io.StringIO(), log, 2).step("m", "loading", 0, 1)
    assert _logged(log) == ["m: loading"]


def test_the_log_has_the_seconds_since_the_beginning(log: io.StringIO) -> None:
    ProgressLine(io.StringIO(), log, 2).ended("m")
    assert log.getvalue() == "     0.0 m: done, 1 of 2 models\n"


def test_the_screen_shows_what_runs(log: io.StringIO) -> None:
    screen = Terminal()
    ProgressLine(screen, log, 3).step("a", "quantising", 40, 100)
    assert "0/3 models 00:00, a: quantising 40%" in screen.getvalue()


def test_without_a_terminal_nothing_is_said_before_something_runs(log: io.StringIO) -> None:
    screen = io.StringIO()
    line = ProgressLine(screen, log, 3)
    line.tick()
    line.step("a", "loading", 0, 1)
    assert screen.getvalue() == "00:00 exporting 0/3 models, a: loading\n"


def test_a_model_that_is_done_counts_and_is_not_shown_any_more(log: io.StringIO) -> None:
    screen = Terminal()
    line = ProgressLine(screen, log, 3)
    line.step("a", "loading", 0, 1)
    line.ended("a")
    assert screen.getvalue().rstrip().endswith("1/3 models 00:00")


@pytest.mark.parametrize("screen", [io.StringIO(), Terminal()], ids=["a file", "a terminal"])
def test_a_note_stays_on_the_screen_and_in_the_log(log: io.StringIO, screen: io.StringIO) -> None:
    ProgressLine(screen, log, 3).note("a", "fp32, since int8 loses too much")
    assert "a: fp32, since int8 loses too much\n" in screen.getvalue()
    assert _logged(log) == ["a: fp32, since int8 loses too much"]
