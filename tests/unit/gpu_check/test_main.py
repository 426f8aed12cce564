"""The whole command."""

import json
import sys
from pathlib import Path

import pytest

from scripts.export_models.parity import Check
from scripts.gpu_check import __main__ as command
from scripts.gpu_check.runner import Outcome
from scripts.gpu_check.worker import FOUND, PARTS


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Outcome]:
    """What each part is to come to; nothing is run."""
    found: dict[str, Outcome] = {}
    monkeypatch.setattr(
        "scripts.gpu_check.runner.run", lambda part, *_: found.get(part, Outcome(part, "skipped", "no GPU"))
    )
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--out", str(tmp_path / "out")])
    return found


def test_parts_that_cannot_run_are_no_failure(answers: dict[str, Outcome]) -> None:
    assert command.main() == 0


def test_a_part_that_fails_is(answers: dict[str, Outcome]) -> None:
    answers["text"] = Outcome("text", "failed", "ended by SIGSEGV")
    assert command.main() == 1


def test_a_part_that_is_out_of_bounds_is(answers: dict[str, Outcome]) -> None:
    answers["text"] = Outcome("text", "ran", checks=[Check("packed fp16", "1 - cosine", 2e-4, 1e-4)])
    assert command.main() == 1


def test_a_part_that_does_not_exist_is_refused(
    answers: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--parts", "text,vision"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no such part: vision; there are peak, text" in capsys.readouterr().err


def test_on_a_machine_without_a_gpu_every_part_is_skipped_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--out", str(tmp_path)])
    assert command.main() == 0
    parts = json.loads((tmp_path / "gpu-check.json").read_text())["parts"]
    assert [part["part"] for part in parts] == [FOUND, *PARTS]
    assert {part["state"] for part in parts[1:]} == {"skipped"}
    assert all("no NVIDIA" in part["reason"] for part in parts[1:])
    assert "text\n  skipped: no NVIDIA" in capsys.readouterr().out
