"""ONNX Runtimes of other versions."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs import runtimes
from scripts.export_models.graphs.runtimes import OtherRuntime


def _interpreter(path: Path, program: str) -> Path:
    """A stand-in for Python that makes a virtual environment with itself in it, and runs ``program`` for pip."""
    path.write_text(
        f'#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; else {program}; fi\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def test_an_index_that_does_not_answer_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = _interpreter(tmp_path / "python", "echo Retrying >&2; echo 'ERROR: No matching distribution' >&2; exit 1")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SourceError) as caught:
        OtherRuntime("1.19.2", tmp_path / "home").install()
    expected = "ONNX Runtime 1.19.2 cannot be installed to check on: ERROR: No matching distribution"
    assert str(caught.value) == expected


def test_what_is_installed_is_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = _interpreter(tmp_path / "python", f'echo "$@" >> {tmp_path}/asked')
    monkeypatch.setattr(sys, "executable", str(python))
    for _ in range(2):
        OtherRuntime("1.19.2", tmp_path / "home").install()
    (asked,) = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked.endswith("install --quiet onnxruntime==1.19.2 numpy<2")


def test_an_installation_that_broke_off_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(_interpreter(tmp_path / "python", "exit 1")))
    with pytest.raises(SourceError):
        OtherRuntime("1.19.2", tmp_path / "home").install()
    monkeypatch.setattr(sys, "executable", str(_interpreter(tmp_path / "python", f"touch {tmp_path}/asked")))
    OtherRuntime("1.19.2", tmp_path / "home").install()
    assert (tmp_path / "asked").exists()


def test_this_process_s_own_runtime_is_no_other(tmp_path: Path) -> None:
    own = version("onnxruntime")
    assert [other.version for other in runtimes.others([own, runtimes.OLDEST], tmp_path)] == [runtimes.OLDEST]


def test_versions_are_compared_as_numbers() -> None:
    assert runtimes.ordered("1.9.9") < runtimes.ordered("1.19.2") < runtimes.ordered("1.100.0")
