"""'make run' says what is wrong in one sentence, and ends without a traceback."""

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


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.run", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


# The real models need more than a machine that tests may have free.
_ON_A_LARGE_DISK = """import runpy, shutil, types
shutil.disk_usage = lambda _: types.SimpleNamespace(free=10**12)
runpy.run_module("scripts.run", run_name="__main__", alter_sys=True)
"""


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    done = _run("--state", str(tmp_path), "--port", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "PORT=99999: must be a number from 1 to 65535\n"


def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_DATABASE", "mysql://host/name")
    done = _run("--state", str(tmp_path), "--port", str(free_port()))
    assert (done.returncode, done.stderr) == (1, "QUARTET_DATABASE: must begin with sqlite:/// or postgresql://\n")
    assert done.stdout == f"{DEMO_BOUNDS}\n"


def test_an_interrupt_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """While it waits for a hub that does not answer, started by a shell that has had SIGINT ignored."""
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
        _, said = run.communicate(timeout=30)
        connection.close()
    assert (run.returncode, said) == (-signal.SIGINT, b"")


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
