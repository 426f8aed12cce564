"""uv installs, and pip where uv does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.install.__main__ import Installer, Part
from scripts.install.quiet import Steps
from tests.conftest import ROOT

PART = Part("packages", ("requirements.txt",))
# Repeats what it is asked for, and tells of one setting.
_PYTHON = """case "$*" in *"config list") echo "global.find-links='/wheels'";; *) echo "$@";; esac"""


def _put(name: str, code: str) -> None:
    path = Path(".venv/bin") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
    path.chmod(0o755)


def _last_line_of_install(folder: Path) -> str:
    Installer(Steps(folder / "log")).part(PART)
    return (folder / "log").read_text().splitlines()[-1]


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment whose Python does nothing."""
    monkeypatch.chdir(tmp_path)
    _put("python", _PYTHON)
    (tmp_path / "requirements.txt").touch()


def test_uv_installs_into_the_environment(tmp_path: Path) -> None:
    _put("uv", 'echo "$@"')
    assert _last_line_of_install(tmp_path) == "pip install --python .venv/bin/python -r requirements.txt"


def test_uv_takes_what_pip_is_told_unless_its_own_variables_say_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put("uv", 'echo "$UV_FIND_LINKS"')
    assert _last_line_of_install(tmp_path) == "/wheels"
    monkeypatch.setenv("UV_FIND_LINKS", "/others")
    assert _last_line_of_install(tmp_path) == "/others"


_NOT_HERE = 'case "$*" in *+cpu*) exit 1;; *) echo "$@";; esac'
_NOWHERE = 'case "$*" in *cpu*) exit 1;; *) echo "$@";; esac'


@pytest.mark.parametrize(
    ("code", "asked"),
    [('echo "$@"', "torch==1.0+cpu "), (_NOT_HERE, "--torch-backend cpu "), (_NOWHERE, "")],
    ids=["on an index of this machine", "on PyTorch's own", "nowhere"],
)
def test_a_torch_without_cuda_is_taken_where_there_is_one(tmp_path: Path, code: str, asked: str) -> None:
    (tmp_path / "torch.txt").write_text("numpy==1.0\ntorch==1.0\n")
    (tmp_path / "requirements.txt").write_text("-r torch.txt\n")
    _put("uv", code)
    assert _last_line_of_install(tmp_path) == f"pip install --python .venv/bin/python {asked}-r requirements.txt"


@pytest.mark.parametrize(("fails", "asked"), [("never", "torch==1.0+cpu "), ("+cpu", "")])
def test_pip_too_takes_a_torch_without_cuda_where_there_is_one(tmp_path: Path, fails: str, asked: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.0\n")
    _put("python", f'case "$*" in *{fails}*) exit 1;; *) echo "$@";; esac')
    assert _last_line_of_install(tmp_path) == f"-m pip --python .venv/bin/python install {asked}-r requirements.txt"


def test_who_gets_a_torch_with_cuda_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.0\n")
    _put("uv", _NOWHERE)
    _last_line_of_install(tmp_path)
    assert "CUDA's libraries come with it" in capsys.readouterr().out


@pytest.mark.parametrize("code", ["exit 1", None], ids=["uv fails", "no uv"])
def test_pip_installs_where_uv_does_not(tmp_path: Path, code: str | None) -> None:
    if code is not None:
        _put("uv", code)
    assert _last_line_of_install(tmp_path) == "-m pip --python .venv/bin/python install -r requirements.txt"


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    command, environ = [sys.executable, "-m", "scripts.install", "base"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "[Errno 17] File exists: 'build'\n")
