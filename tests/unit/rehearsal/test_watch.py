"""A command that is watched: what it says, what it takes, and how it is ended."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from scripts.rehearsal.watch import RehearsalError, Watched, sample

_WAITS = "import time; print('waits', flush=True); time.sleep(60)"


@contextmanager
def _watched(code: str, folder: Path) -> Iterator[Watched]:
    with closing(
        Watched([sys.executable, "-c", code], folder, os.environ, folder / "log", folder / "details")
    ) as command:
        yield command


def test_what_a_child_holds_is_counted(tmp_path: Path) -> None:
    child = "held = b'x' * 200_000_000; print('held', flush=True); import time; time.sleep(60)"
    with _watched(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])", tmp_path) as command:
        command.wait_for("held", 30)
        assert sample(command.pid, 0.0).own > 200_000_000


@pytest.fixture
def in_background() -> Iterator[None]:
    """As a shell starts what is to run in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_background")
def test_ctrl_c_ends_it_though_who_started_it_ignores_that(tmp_path: Path) -> None:
    with _watched(_WAITS, tmp_path) as command:
        command.wait_for("waits", 30)
        command.interrupt()
        assert command.ended() != 0
    assert "KeyboardInterrupt" in (tmp_path / "log").read_text(encoding="utf-8")


def test_what_it_appends_to_its_details_is_said_and_what_stood_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "details").write_text("before\n", encoding="utf-8")
    code = "file = open('details', 'a'); file.write('meanwhile\\nhalf a l'); file.close()"
    with _watched(code, tmp_path) as command:
        command.ended()
    assert [line.text for line in command.lines] == ["meanwhile"]


def test_a_command_that_ends_without_what_is_waited_for_is_one_sentence(tmp_path: Path) -> None:
    code = "print('first'); print('last')"
    with _watched(code, tmp_path) as command, pytest.raises(RehearsalError, match="the last line is: last"):
        command.wait_for("ready", 30)
