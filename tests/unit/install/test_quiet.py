"""One line a step; what a command says is in the log, and quoted when it failed."""

import sys
from pathlib import Path

import pytest

from scripts.install.quiet import StepFailedError, Steps


def test_what_a_command_says_goes_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Steps(tmp_path / "log").run("a step", [sys.executable, "-c", "print('noise')"])
    printed = capsys.readouterr().out
    assert printed.startswith("  a step ... ")
    assert "noise" not in printed
    assert "noise" in (tmp_path / "log").read_text()


def test_a_failure_names_the_log_and_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such package')"]
    with pytest.raises(StepFailedError, match=rf"a step: failed \(no such package\); {tmp_path}/log"):
        Steps(tmp_path / "log").run("a step", command)


def test_a_step_that_can_be_done_otherwise_says_whether_it_worked(tmp_path: Path) -> None:
    assert not Steps(tmp_path / "log").tried("a step", [sys.executable, "-c", "import sys; sys.exit(1)"])


def test_a_command_gets_what_is_added_to_the_environment(tmp_path: Path) -> None:
    code = "import os; print(os.environ['PATH'] != '' and os.environ['ADDED'])"
    Steps(tmp_path / "log").run("a step", [sys.executable, "-c", code], {"ADDED": "yes"})
    assert (tmp_path / "log").read_text().endswith("yes\n")
