"""What a person sees of a running export."""

import io

import pytest

from scripts.export_models.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_step_is_told_at_each_quarter() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, 2)
    for done in range(101):
        line.heard(("step", "m", "quantising", done, 100))
    told = [f"m: quantising {percent}%" for percent in (0, 25, 50, 75, 100)]
    assert stream.getvalue().splitlines() == told


def test_a_step_without_parts_is_told_without_a_share() -> None:
    stream = io.StringIO()
    ProgressLine(stream, 2).heard(("step", "m", "loading", 0, 1))
    assert stream.getvalue() == "m: loading\n"


def test_without_a_terminal_a_long_silence_is_broken_by_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("scripts.export_models.progress_line.time.monotonic", lambda: now)
    stream = io.StringIO()
    line = ProgressLine(stream, 2)
    line.tick()
    line.heard(("step", "m", "comparing", 40, 100))
    now += 29
    line.tick()
    assert stream.getvalue() == "m: comparing 40%\n"
    now += 62
    line.tick()
    line.tick()
    assert stream.getvalue().splitlines()[1:] == ["1:31 0/2 models  m: comparing 40%"]


def test_a_terminal_shows_that_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("scripts.export_models.progress_line.time.monotonic", lambda: now)
    stream = Terminal()
    line = ProgressLine(stream, 2)
    line.heard(("step", "m", "loading", 0, 1))
    now += 3
    line.tick()
    assert stream.getvalue().endswith("0:03 0/2 models  m: loading")


def test_a_terminals_line_shows_all_that_runs() -> None:
    stream = Terminal()
    line = ProgressLine(stream, 3)
    line.heard(("step", "a", "quantising", 40, 100))
    line.heard(("step", "b", "loading", 0, 1))
    last = stream.getvalue().rpartition("\x1b[K")[2]
    assert last.endswith("0/3 models  a: quantising 40%  b: loading")
    assert "\n" not in stream.getvalue()


def test_a_finished_model_and_a_note_stay_on_the_screen() -> None:
    stream = Terminal()
    line = ProgressLine(stream, 3)
    line.heard(("note", "a", "fp32, since int8 loses too much"))
    line.heard(("finished", "a", []))
    kept = [part.rpartition("\x1b[K")[2] for part in stream.getvalue().split("\n")[:-1]]
    assert kept == ["a: fp32, since int8 loses too much", "a: done, 1 of 3 models"]


def test_the_line_is_empty_for_whoever_writes_next() -> None:
    stream = Terminal()
    line = ProgressLine(stream, 1)
    line.heard(("step", "a", "loading", 0, 1))
    line.close()
    assert stream.getvalue().endswith("\r\x1b[K")
