"""uv installs from where this machine's pip does, and pip where uv does not; a step is one line."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.install.__main__ import Installer, Part
from scripts.install.pip_settings import uv_environment
from scripts.install.quiet import StepFailedError, Steps
from tests.conftest import ROOT

FILES = ("frontend/requirements.txt", "tests/requirements.txt")
PART = Part("packages", FILES)
_FILES = "--no-deps --require-hashes -r frontend/requirements.txt -r tests/requirements.txt"
# It repeats what it is asked for, and tells of one setting.
_PYTHON = """case "$*" in *"config list") echo "global.find-links='/wheels'";; *) echo "$@";; esac"""


def _put(name: str, code: str) -> None:
    path = Path(".venv/bin") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
    path.chmod(0o755)


def _said(folder: Path, part: Part = PART) -> list[str]:
    """What the installers were asked for that worked."""
    Installer(Steps(folder / "log")).part(part)
    lines = (folder / "log").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("$")]


def _last_line_of_install(folder: Path) -> str:
    return _said(folder)[-1]


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment whose Python does nothing."""
    monkeypatch.chdir(tmp_path)
    _put("python", _PYTHON)


def test_uv_installs_into_the_environment(tmp_path: Path) -> None:
    _put("uv", 'echo "$@"')
    assert _last_line_of_install(tmp_path) == f"pip install --python .venv/bin/python {_FILES}"


def test_uv_uses_pips_settings_unless_its_own_variables_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put("uv", 'echo "$UV_FIND_LINKS"')
    assert _last_line_of_install(tmp_path) == "/wheels"
    monkeypatch.setenv("UV_FIND_LINKS", "/others")
    assert _last_line_of_install(tmp_path) == "/others"


_TORCH = Part("packages", FILES, torch=True)
_CPU = "--no-deps --require-hashes -r scripts/export_models/requirements-cpu.txt"
_CUDA = "--no-deps --require-hashes -r scripts/export_models/requirements-cuda.txt"
_UV, _PIP = "pip install --python .venv/bin/python", "-m pip --python .venv/bin/python install"
_NOT_HERE = 'case "$*" in *backend*) echo "$@";; *-cpu.txt*) exit 1;; *) echo "$@";; esac'
_NOWHERE = 'case "$*" in *-cpu.txt*) exit 1;; *) echo "$@";; esac'


@pytest.mark.parametrize(
    ("uv", "python", "said"),
    [
        ('echo "$@"', "exit 1", [f"{_UV} {_CPU}", f"{_UV} {_FILES}"]),
        (_NOT_HERE, "exit 1", [f"{_UV} --torch-backend cpu {_CPU}", f"{_UV} {_FILES}"]),
        (_NOWHERE, _NOWHERE, [f"{_UV} {_CUDA}", f"{_UV} {_FILES}"]),
        ("exit 1", 'echo "$@"', [f"{_PIP} {_CPU}", f"{_PIP} {_FILES}"]),
        ("exit 1", _NOWHERE, [f"{_PIP} {_CUDA}", f"{_PIP} {_FILES}"]),
    ],
    ids=["on an index of this machine", "on PyTorch's own", "nowhere", "pip", "pip, nowhere"],
)
def test_a_torch_without_cuda_is_preferred(tmp_path: Path, uv: str, python: str, said: list[str]) -> None:
    _put("uv", uv)
    _put("python", f'case "$*" in *"config list") ;; *) {python};; esac')
    assert _said(tmp_path, _TORCH) == said


def test_a_torch_with_cuda_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _put("uv", _NOWHERE)
    _put("python", f'case "$*" in *"config list") ;; *) {_NOWHERE};; esac')
    _said(tmp_path, _TORCH)
    assert "it comes with CUDA's libraries" in capsys.readouterr().out


def test_a_torch_with_cuda_is_refused_where_the_disk_has_no_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put("uv", _NOWHERE)
    _put("python", f'case "$*" in *"config list") ;; *) {_NOWHERE};; esac')
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3_600_000_000))
    with pytest.raises(StepFailedError, match=r"needs 8 GB of free disk, .* has 3\.6 GB"):
        _said(tmp_path, _TORCH)


def test_an_unlocked_part_takes_what_its_packages_need_and_a_torch_without_cuda_too(tmp_path: Path) -> None:
    (tmp_path / "peers.txt").write_text("numpy==1.0\ntorch==1.0\n")
    _put("uv", 'echo "$@"')
    said = _said(tmp_path, Part("peers", ("peers.txt",), locked=False))
    assert said == [f"{_UV} torch==1.0+cpu", f"{_UV} -r peers.txt"]


@pytest.mark.parametrize("code", ["exit 1", None], ids=["uv fails", "no uv"])
def test_pip_installs_if_uv_does_not(tmp_path: Path, code: str | None) -> None:
    if code is not None:
        _put("uv", code)
    assert _last_line_of_install(tmp_path) == f"-m pip --python .venv/bin/python install {_FILES}"


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    command, environ = [sys.executable, "-m", "scripts.install", "base"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "[Errno 17] File exists: 'build'\n")


BEST = {"UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.mark.parametrize(
    ("listed", "added"),
    [
        ("", {}),
        ("global.find-links='/one\\n/two'\n", {"UV_FIND_LINKS": "/one,/two"}),
        # A variable goes before a file.
        (":env:.index-url='https://one'\nglobal.index-url='https://two'\n", {"UV_DEFAULT_INDEX": "https://one"}),
        (":env:.disable-pip-version-check='1'\n:env:.config-file='/dev/null'\nlist.format='columns'\n", {}),
    ],
    ids=["nothing", "folders of wheels", "a variable and a file", "nothing about packages"],
)
def test_settings_of_pip_are_passed_to_uv(listed: str, added: dict[str, str]) -> None:
    assert uv_environment(listed) == {**BEST, **added}


def test_indexes_and_certificates_are_handed_on() -> None:
    listed = "global.index-url='https://one/simple'\nglobal.extra-index-url='https://two file:///three'\n"
    assert uv_environment(f"{listed}global.cert='/ca.crt'\ninstall.trusted-host='one'\n") == {
        **BEST,
        "UV_DEFAULT_INDEX": "https://one/simple",
        "UV_INDEX": "https://two file:///three",
        "SSL_CERT_FILE": "/ca.crt",
        "UV_INSECURE_HOST": "one",
    }


def test_an_installation_for_the_user_alone_is_not_for_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_USER", "1")
    code = "import os, sys; sys.exit(os.environ['PIP_USER'] != '0')"
    assert Steps(tmp_path / "log").tried("a step", [sys.executable, "-c", code])
    assert uv_environment("global.user='true'\n:env:.user='1'\n") == BEST


def test_a_setting_that_uv_has_not_leaves_the_work_to_pip() -> None:
    assert uv_environment("global.no-index='true'\n") is None


def test_the_output_of_a_command_goes_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Steps(tmp_path / "log").run("a step", [sys.executable, "-c", "print('noise')"])
    printed = capsys.readouterr().out
    assert printed.startswith("  a step ... ")
    assert "noise" not in printed
    assert "noise" in (tmp_path / "log").read_text()


def test_a_failure_names_the_log_and_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such package')"]
    with pytest.raises(StepFailedError, match=rf"a step: failed \(no such package\); {tmp_path}/log"):
        Steps(tmp_path / "log").run("a step", command)


_PIP = """Looking in indexes: http://127.0.0.1:9/simple, http://127.0.0.1:9/other
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(<HTTPConnection>: refused)': /uv/
ERROR: No matching distribution found for uv==1"""
_UV_SAYS = "  cause: Failed to fetch: `http://127.0.0.1:9/simple/x/`\n  cause: client error (Connect)"
_PYPI = "WARNING: Retrying after connection broken by 'NameResolutionError': /simple/uv/"


@pytest.mark.parametrize(
    ("output", "index"),
    [(_PIP, "http://127.0.0.1:9/simple"), (_UV_SAYS, "http://127.0.0.1:9/simple/x/"), (_PYPI, "PyPI")],
    ids=["pip", "uv", "pip's default"],
)
def test_an_index_that_cannot_be_reached_is_named_with_its_variable(tmp_path: Path, output: str, index: str) -> None:
    command = [sys.executable, "-c", f"print({output!r}); raise SystemExit(1)"]
    said = f"^a step: the package index {re.escape(index)} cannot be reached; name another by PIP_INDEX_URL"
    with pytest.raises(StepFailedError, match=said):
        Steps(tmp_path / "log").run("a step", command)


def test_another_fault_after_an_unreachable_index_is_told_as_it_is(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log")
    assert not steps.tried("first", [sys.executable, "-c", f"print({_PIP!r}); raise SystemExit(1)"])
    with pytest.raises(StepFailedError, match="second: failed .broken requirement.;"):
        steps.run("second", [sys.executable, "-c", "print('broken requirement'); raise SystemExit(1)"])


def test_without_an_index_nothing_else_is_tried(tmp_path: Path) -> None:
    _put("pip", "exit 1")
    _put("python", f"printf %s {shlex.quote(_PIP)}; exit 1")
    with pytest.raises(StepFailedError, match="uv, which installs the rest: the package index"):
        Installer(Steps(tmp_path / "log")).base()


def test_an_optional_step_returns_whether_it_worked(tmp_path: Path) -> None:
    assert not Steps(tmp_path / "log").tried("a step", [sys.executable, "-c", "import sys; sys.exit(1)"])


def test_a_command_gets_what_is_added_to_the_environment(tmp_path: Path) -> None:
    code = "import os; print(os.environ['PATH'] != '' and os.environ['ADDED'])"
    Steps(tmp_path / "log").run("a step", [sys.executable, "-c", code], {"ADDED": "yes"})
    assert (tmp_path / "log").read_text().endswith("yes\n")
