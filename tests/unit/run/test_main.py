"""'make run' prints an error as one sentence, and Ctrl-C ends it without a traceback, also while its modules load."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.local_triton.checks import free_port
from scripts.run.__main__ import DEMO_BOUNDS
from tests.conftest import ROOT

# The real models need more disk than a machine for tests may have.
_ON_A_LARGE_DISK = """import runpy, shutil, types
shutil.disk_usage = lambda _: types.SimpleNamespace(free=10**12)
runpy.run_module("scripts.run", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("port", "variables", "status", "printed", "error"),
    [
        ("99999", {}, 2, "", "PORT=99999: must be a number from 1 to 65535\n"),
        (
            "",
            {"QUARTET_DATABASE": "mysql://host/name"},
            1,
            f"{DEMO_BOUNDS}\n",
            "QUARTET_DATABASE: must begin with sqlite:/// or postgresql://\n",
        ),
    ],
    ids=["a wrong option", "a wrong database"],
)
def test_an_error_is_one_sentence(
    tmp_path: Path, port: str, variables: dict[str, str], status: int, printed: str, error: str
) -> None:
    command = [sys.executable, "-m", "scripts.run", "--state", str(tmp_path), "--port", port or str(free_port())]
    environ = {**os.environ, **variables}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (status, printed, error)


def test_an_interrupt_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """It waits for a hub that does not answer, and its shell ignores SIGINT."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = {"HF_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}", "PYTHONPATH": str(ROOT)}
        run = subprocess.Popen(
            [sys.executable, "-c", _ON_A_LARGE_DISK, "--models", "hub", "--port", str(free_port())],
            cwd=tmp_path,
            env={**os.environ, **hub},
            stderr=subprocess.PIPE,
            preexec_fn=_ignore_interrupts,
        )
        silent.settimeout(60)
        connection, _ = silent.accept()
        run.send_signal(signal.SIGINT)
        _, printed = run.communicate(timeout=30)
        connection.close()
    assert (run.returncode, printed) == (-signal.SIGINT, b"")


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_MODULES = [
    "scripts.run",
    "scripts.run.preflight",
    "scripts.run.known_answers",
    "scripts.run.export",
    "scripts.install",
    "scripts.export_models",
]
_SLOW = "import time; print('loading', flush=True); time.sleep(60)"


@pytest.mark.parametrize("module", _MODULES)
def test_an_interrupt_while_modules_load_prints_nothing(tmp_path: Path, module: str) -> None:
    # All of them load this module first.
    (tmp_path / "argparse.py").write_text(_SLOW, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command, pipe = ["env", "--default-signal=INT", sys.executable, "-m", module], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "loading\n"
        run.send_signal(signal.SIGINT)
        _, printed = run.communicate(timeout=30)
    assert (run.returncode, printed) == (-signal.SIGINT, "")
