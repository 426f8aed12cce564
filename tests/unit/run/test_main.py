"""'make run' says what is wrong in one sentence; Ctrl-C ends it without a traceback, while its modules load too."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local_triton.checks import free_port
from scripts.run.__main__ import DEMO_BOUNDS
from scripts.run.ending import Ending
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


_MODULES = [
    "scripts.run",
    "scripts.run.preflight",
    "scripts.run.known_answers",
    "scripts.install",
    "scripts.export_models",
]
_SLOW = "import time; print('loading', flush=True); time.sleep(60)"


@pytest.mark.parametrize("module", _MODULES)
def test_an_interrupt_while_modules_load_says_nothing(tmp_path: Path, module: str) -> None:
    # In the place of the first module that all of them load.
    (tmp_path / "argparse.py").write_text(_SLOW, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command, pipe = ["env", "--default-signal=INT", sys.executable, "-m", module], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "loading\n"
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    assert (run.returncode, said) == (-signal.SIGINT, "")


_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture(autouse=True)
def _handlers_are_put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_the_first_signal_interrupts_and_a_later_one_of_any_kind_does_not() -> None:
    again: list[str] = []
    Ending(lambda: again.append("again"), _SIGNALS)
    with pytest.raises(KeyboardInterrupt):
        _send(signal.SIGUSR1)
    for number in _SIGNALS:
        _send(number)
    assert again == ["again", "again"]


def test_none_interrupts_an_end_that_came_by_itself() -> None:
    again: list[str] = []
    Ending(lambda: again.append("again"), _SIGNALS).begins()
    _send(signal.SIGUSR1)
    assert again == ["again"]
