"""Commands that export leave the models of a running server alone."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.local_triton.checks import PreflightError, free_port
from scripts.run import preflight
from scripts.run.preflight import Choice
from scripts.run.stack import Stack
from scripts.run.state import MODELS_LOCK, models_in_use
from tests.conftest import ROOT
from tests.unit.run.conftest import Make

_RUNNING = "MODELS=demo PRECISION=auto VOICES_FOLDER=own"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout whose models, one of them a voice of its operator, a Quartet serves."""
    (tmp_path / "model_repository" / "piper_eva" / "1").mkdir(parents=True)
    (tmp_path / "model_repository" / "piper_eva" / "1" / "exported.json").write_text('{"source": "voices"}')
    for name in ("scripts", "frontend", "client", "pyproject.toml", "docker"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    MODELS_LOCK.parent.mkdir()
    with MODELS_LOCK.open("w+") as file:
        file.write(_RUNNING)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_SH)
        yield tmp_path


@pytest.mark.parametrize(
    "target", ["export", "export PRECISION=fp32", "bench", "tune", "demo", "clean", "run PORT=1081"]
)
def test_models_of_a_running_server_stay(served: Path, make: Make, target: str) -> None:
    done = make(*target.split())
    assert done.returncode == 2
    assert "runs on" in done.stderr
    assert "Traceback" not in done.stderr
    assert (served / "model_repository" / "piper_eva" / "1" / "exported.json").is_file()


def test_an_export_of_the_served_models_changes_nothing(served: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.run.export", "--voices-folder", "own"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    said = "a Quartet of this folder runs on these models, so they stay as they are\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert (served / "model_repository" / "piper_eva" / "1" / "exported.json").is_file()


@pytest.mark.parametrize("action", ["run", "export"])
def test_the_checks_before_an_installation_refuse_other_models(served: Path, action: str) -> None:
    with pytest.raises(PreflightError, match="runs on the models of .*own; stop it before those of MODELS=demo"):
        preflight.check(Choice(action, port="1081"))


@pytest.mark.parametrize("target", ["bench", "tune"])
def test_a_server_elsewhere_is_measured_beside_any_models(served: Path, make: Make, target: str) -> None:
    done = make("-n", target, f"{target.upper()}=--url http://127.0.0.1:1/v1")
    assert "scripts.run.export" not in done.stdout + done.stderr
    assert "scripts.run.preflight" not in done.stdout + done.stderr


def _exports() -> bool:
    """Whether an export of other models would be made now."""
    made: list[bool] = []
    with suppress(PreflightError), models_in_use("others", lambda: made.append(True)):
        pass
    return bool(made)


def test_a_product_keeps_its_models_until_it_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stack = Stack(free_port(), {}, work=tmp_path / "a b")
    with pytest.raises(PreflightError, match="cannot run in"):
        stack.start()
    assert not _exports()
    stack.stop()
    assert _exports()


def test_a_product_does_not_start_while_its_models_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    MODELS_LOCK.parent.mkdir()
    with MODELS_LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(PreflightError, match="exports models just now"):
            Stack(free_port(), {}, work=tmp_path / "work").start()
