import subprocess
import sys
from pathlib import Path

import pytest

from frontend.__main__ import main
from frontend.commands import gpu_check


def test_the_checkouts_own_command_is_run_with_all_arguments(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["quartet", "gpu-check", "--help"])
    assert main() == 0
    assert "--device {cuda,cpu}" in capfd.readouterr().out


def test_its_exit_status_is_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scripts" / "gpu_check").mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert gpu_check.run([], tmp_path) == 1


def test_without_the_checkout_a_sentence_says_where_to_run_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_check.run([], tmp_path) == 2
    assert "run from Quartet's repository" in capsys.readouterr().err


def test_the_help_names_it() -> None:
    done = subprocess.run([sys.executable, "-m", "frontend", "--help"], capture_output=True, text=True, check=True)
    assert "check and measure the models on an NVIDIA GPU" in " ".join(done.stdout.split())
