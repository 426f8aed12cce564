"""The tests run on systems without a browser, Prometheus or apt-get, and say what they leave out."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import tools
from tests.conftest import ROOT


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without programs; the folder ``bin`` is its path."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def _program(path: Path, status: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"])
def test_a_browser_of_any_name_is_taken(machine: Path, name: str) -> None:
    path = _program(machine / "bin" / name)
    assert tools.browser() == path


@pytest.mark.parametrize(
    "place",
    [
        "chromium-1208/chrome-linux/chrome",
        "chromium-1208/chrome-linux64/chrome",
        "chromium_headless_shell-1208/chrome-headless-shell-linux64/chrome-headless-shell",
    ],
)
@pytest.mark.parametrize("folder", [None, "elsewhere"])
def test_playwrights_browser_is_taken(
    machine: Path, monkeypatch: pytest.MonkeyPatch, place: str, folder: str | None
) -> None:
    if folder:
        monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(machine / folder))
    path = _program(machine / (folder or ".cache/ms-playwright") / place)
    assert tools.browser() == path


def test_a_program_that_only_says_how_to_install_a_browser_is_none(machine: Path) -> None:
    _program(machine / "bin" / "chromium-browser", status=1)
    assert tools.browser() is None


def test_without_a_program_a_test_is_skipped_and_fails_in_ci(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.skip.Exception, match="left out, because there is no browser here"):
        tools.needed(None, "browser")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI leaves out no test"):
        tools.needed(None, "browser")
    assert tools.needed("/there", "browser") == "/there"


@pytest.mark.parametrize(("asked", "calls"), [("", 0), ("1", 1)])
def test_apt_get_runs_only_if_it_is_asked_for(tmp_path: Path, asked: str, calls: int) -> None:
    """The recipe of the Makefile, on a machine whose programs report their calls."""
    log, programs = tmp_path / "calls", tmp_path / "bin"
    for name in ("apt-get", "sudo", "dpkg-deb"):
        _program(programs / name)
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n', encoding="utf-8")
    _program(tmp_path / "venv" / "bin" / "python", status=1)
    (tmp_path / "venv" / "installed-tests").touch()
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    make = ["make", "--no-print-directory", "--old-file", str(tmp_path / "venv" / "installed-tests"), "browser"]
    make += [f"VENV={tmp_path / 'venv'}", f"APT={asked}"]
    done = subprocess.run(make, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    called = log.read_text(encoding="utf-8") if log.exists() else ""
    assert bool(called) == bool(calls)
    assert ("will be left out (APT=1 installs it with apt-get)" in done.stderr) is (not calls)
