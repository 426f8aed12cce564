"""One Quartet a folder, and no export under the models of another."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts.local_triton.checks import PreflightError
from scripts.run.state import check_folder, check_models, check_writable, folder_in_use, models_in_use, models_kept
from tests.conftest import ROOT


@pytest.fixture
def occupied(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has claimed ``tmp_path`` for port 8099 and the demo models."""
    code = (
        "import sys; from pathlib import Path; from scripts.run.state import folder_in_use, models_in_use\n"
        "def export(): print(flush=True); sys.stdin.read(1)\n"
        f"with folder_in_use(Path({str(tmp_path)!r}), 8099), "
        f"models_in_use('demo', export, Path({str(tmp_path / 'lock')!r})): print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    with process:
        yield process
        process.kill()


def _exported(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"x")
    process.stdin.flush()
    process.stdout.readline()


def _claim(folder: Path) -> None:
    with folder_in_use(folder, 8080):
        pass


def _use(choice: str, folder: Path) -> list[str]:
    """Which models are exported where those of ``choice`` are wanted."""
    exported: list[str] = []
    with models_in_use(choice, lambda: exported.append(choice), folder / "lock"):
        return exported


@pytest.mark.parametrize("ask", [check_folder, _claim], ids=["check", "claim"])
def test_a_folder_in_use_names_its_process_port_and_start(
    occupied: subprocess.Popen[bytes], tmp_path: Path, ask: Callable[[Path], None]
) -> None:
    since = json.loads((tmp_path / "running.json").read_text())["since"]
    with pytest.raises(PreflightError, match=f"already: process {occupied.pid} on port 8099 since {since}"):
        ask(tmp_path)
    assert json.loads((tmp_path / "running.json").read_text())["port"] == 8099


def test_a_folder_whose_quartet_ends_says_so(tmp_path: Path) -> None:
    with folder_in_use(tmp_path, 8099) as ending:
        ending()
        said = f"ends since .*: process {os.getpid()} still finishes requests; .*kill -INT {os.getpid()}$"
        with pytest.raises(PreflightError, match=said):
            check_folder(tmp_path)
    check_folder(tmp_path)


def test_a_folder_is_free_when_its_process_was_killed(occupied: subprocess.Popen[bytes], tmp_path: Path) -> None:
    occupied.kill()
    occupied.wait()
    _claim(tmp_path)


def test_an_unused_folder_is_free(tmp_path: Path) -> None:
    check_folder(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody can write to, for somebody whom a file's mode stops."""
    before = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        monkeypatch.chdir(folder)
        os.seteuid(before or 65534)
        yield Path(folder)
        os.seteuid(before)
        monkeypatch.chdir("/")


@pytest.mark.parametrize("name", ["build/running.json", "model_repository/m3_embedder/1", ".venv/bin", "other"])
def test_a_file_of_another_user_is_named(shared: Path, name: str) -> None:
    path = shared / name
    path.mkdir(parents=True)
    path.chmod(0o555)
    with pytest.raises(PreflightError, match=f"{path} is {path.owner()}'s and cannot be written to"):
        check_writable(Path("other"))


def test_own_files_are_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "export").mkdir(parents=True)
    check_writable(Path("build"))


def test_models_that_are_being_exported_are_waited_for(occupied: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="exports models just now"):
        _use("demo", tmp_path)


def test_equal_models_are_shared_and_other_models_refused(occupied: subprocess.Popen[bytes], tmp_path: Path) -> None:
    _exported(occupied)
    assert _use("demo", tmp_path) == []
    with pytest.raises(PreflightError, match="runs on the models of demo; stop it before those of hub"):
        _use("hub", tmp_path)
    with pytest.raises(PreflightError, match="runs on the models of demo"):
        check_models("hub", tmp_path / "lock")


def test_unused_models_are_exported(tmp_path: Path) -> None:
    assert _use("demo", tmp_path) == ["demo"]


def test_models_that_somebody_measures_are_not_exported(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert _use("demo", tmp_path) == ["demo"]
    with models_kept(lock):
        assert _use("demo", tmp_path) == []
        with pytest.raises(PreflightError, match="runs on the models of demo; stop it before those of hub"):
            _use("hub", tmp_path)
    assert _use("hub", tmp_path) == ["hub"]


def test_models_that_are_being_exported_are_not_measured(occupied: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="exports models just now"), models_kept(tmp_path / "lock"):
        pass
    _exported(occupied)
    with models_kept(tmp_path / "lock"):
        pass
